"""A task processes one partition of a sub-topology (Kafka's `StreamTask`). It has no clock, and no I/O other than its
stores'."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from kafkapy.runtime import garbage
from kafkapy.streams.config import StreamsConfig
from kafkapy.streams.errors import StreamsException, TaskCorruptedException, TaskMigratedException
from kafkapy.streams.exception_handlers import DEAD_LETTER_TOPIC, DeserializationExceptionHandler, settle
from kafkapy.streams.metrics.detailed_metrics import DetailedMetrics
from kafkapy.streams.processor import Cancellable, PunctuationType
from kafkapy.streams.records import Record, RecordContext
from kafkapy.streams.task.consumed_record import ConsumedRecord
from kafkapy.streams.task.partition_group import PartitionGroup, RecordQueue, StampedRecord
from kafkapy.streams.task.punctuation import Punctuation, PunctuationQueue
from kafkapy.streams.task.raw_records import RawRecords
from kafkapy.streams.task.record_collector import Output, RecordCollector
from kafkapy.streams.task.state_manager import StateManager
from kafkapy.streams.task.task_context import NodeContext, StreamTaskContext
from kafkapy.streams.task.task_coroutines import TaskCoroutines
from kafkapy.streams.timestamps import FailOnInvalidTimestamp
from kafkapy.streams.topology.nodes import FailedProcessing, SourceNode, error_context
from kafkapy.streams.topology.processor_topology import ProcessorTopology

if TYPE_CHECKING:
    import pyarrow as pa

    from kafkapy.streams.columns.batch import ColumnBatch


class StreamTask:
    """A task.

    Invariants: each record is taken from the partition group once, and its offset is in `consumed` when all nodes have
    processed it, or in `coroutines` until then; `commit_needed` is true if anything was processed or punctuated since the
    last commit.

    Args:
        task_id: For example "0_1".
        topology: Its own nodes and stores, not shared with other tasks.
        partitions: Topics and numbers of its partitions.
        config: The application's configuration.
        output: Destination of its records.
        cache: The record cache, shared by the tasks of a thread.
        global_store: Returns a global store by name; None if there is none.
        lag: Returns the number of records of a partition that were not fetched yet; None: not known.
        partition: Partition number of its source and changelog partitions.
    """

    def __init__(
        self,
        task_id: str,
        topology: ProcessorTopology,
        partitions: Iterable[tuple[str, int]],
        config: StreamsConfig,
        output: Output,
        cache: Any,
        global_store: Callable[[str], Any],
        lag: Callable[[str, int], int | None],
        partition: int = 0,
    ) -> None:
        self.task_id = task_id
        self.topology = topology
        self.dropped_records = 0
        self.details: DetailedMetrics | None = None
        """The metrics of its nodes and stores, with `metrics.recording.level=DEBUG`."""
        self.commit_needed = False
        self.commit_requested = False
        self.consumed: dict[tuple[str, int], int] = {}
        """The offset of the last processed record of each partition."""
        self.committed: dict[tuple[str, int], int] = {}
        """The offset of each partition's next record when the task started to run."""
        self.state = StateManager(topology.changelogs)
        production = config.instance("default.production.exception.handler")
        collector = RecordCollector(output, production, self._drop)
        self.context = StreamTaskContext(
            self, task_id, config, self.state, cache, self._drop, collector, partition, global_store
        )
        self._raw = RawRecords() if config.originals.get(DEAD_LETTER_TOPIC) else None
        self._deserialization = config.instance("default.deserialization.exception.handler")
        self._processing = config.instance("processing.exception.handler")
        default_extractor = config.instance("default.timestamp.extractor") or FailOnInvalidTimestamp()
        queues = [self._queue(topic, number, default_extractor) for topic, number in partitions]
        self.group = PartitionGroup(queues, config.max_task_idle_ms, lag)
        self.takes_columns = any(queue.source.takes_columns() for queue in queues)
        self._stream_time = PunctuationQueue()
        self._wall_clock = PunctuationQueue()
        self.coroutines = TaskCoroutines(topology)
        self._has_coroutines = bool(self.coroutines)

    @property
    def stream_time(self) -> int:
        """The highest timestamp of a processed record; -1 before the first."""
        return self.group.stream_time

    # --- life -------------------------------------------------------------------------------------------------------------

    def initialize_stores(self) -> None:
        """Open the stores; afterwards `state.restores` accepts changelog records."""
        for store in self.topology.stores.values():
            store.init(self.context, store)

    def initialize_topology(self) -> None:
        """Initialize the processors after the stores are restored, or after `suspend`."""
        self.consumed.clear()
        for node in self.topology.nodes:
            self.context.set_current_node(node)
            try:
                node.init(self.context, self._processing)
            finally:
                self.context.set_current_node(None)
        self.context.record_context = None

    def suspend(self) -> None:
        """Close the processors and drop queued records; stores stay open, and a commit is still possible."""
        try:
            self._close_topology()
        finally:
            self.group.clear()
            if self._raw is not None:
                self._raw.clear()
            self._stream_time.clear()
            self._wall_clock.clear()

    def close(self) -> None:
        """Close the stores."""
        self.state.close()

    # --- work -------------------------------------------------------------------------------------------------------------

    def add_records(self, topic: str, partition: int, records: Iterable[ConsumedRecord]) -> int:
        """Queue consumed records of a partition; return the length of its queue."""
        return self.group.add(topic, partition, records)

    def add_columns(self, batch: pa.RecordBatch) -> int:
        """Queue records of one partition that `KafkaConsumer.poll_arrow` has read; return the length of its queue."""
        topic, partition = batch.column("topic")[0].as_py(), batch.column("partition")[0].as_py()
        if self.group.queues[topic, partition].source.takes_columns():
            return self.group.add_columns(topic, partition, batch)
        from kafkapy.streams.columns.waiting import consumed_records

        return self.group.add(topic, partition, consumed_records(batch))

    def has_records_queued(self) -> bool:
        return self.group.size > 0

    def process(self, now_ms: int) -> bool:
        """Process the next record if one is ready; return whether one was.

        Raises:
            StreamsException: A node failed; the cause is chained. The record's offset will not be committed.
        """
        if (self._has_coroutines and self.coroutines.is_full) or not self.group.is_ready(now_ms):
            return False
        if self.takes_columns and self._raw is None and self._process_as_read(now_ms):
            return True
        taken = self.group.next()
        if taken is None:
            return False
        stamped, queue = taken
        record = stamped.record
        if self.takes_columns and queue.source.takes_columns() and not stamped.corrupted:
            self._process_in_order(stamped, queue, now_ms)
            return True
        if not stamped.corrupted:
            self._process(record, stamped.timestamp, queue.source, now_ms)
        self.consumed[queue.topic, queue.partition] = record.offset
        self.commit_needed = True
        return True

    def _process_as_read(self, now_ms: int) -> bool:
        """Process the records of the only partition with records as one batch; return whether that was possible."""
        from kafkapy.streams.columns.reading import next_as_read

        taken = next_as_read(self.group, self._stream_time.next_time())
        if taken is None:
            return False
        batch, queue, last = taken
        self._process_columns(batch, queue, last, now_ms)
        return True

    def _process_in_order(self, first: StampedRecord, queue: RecordQueue, now_ms: int) -> None:
        """Process a record and those after it as one batch."""
        from kafkapy.streams.columns.reading import next_in_order

        batch = next_in_order(self.group, first, queue, self._stream_time.next_time())
        end = len(batch) - 1
        origin = batch.context_of(end)
        last = first.record._replace(offset=origin.offset, timestamp=origin.timestamp, headers=origin.headers)
        self._process_columns(batch, queue, last, now_ms)

    def _process_columns(self, batch: ColumnBatch, queue: RecordQueue, last: ConsumedRecord, now_ms: int) -> None:
        source = queue.source
        self._run(lambda: source.process_batch(batch), last, last.timestamp, source, now_ms)
        self.consumed[queue.topic, queue.partition] = last.offset
        self.commit_needed = True

    def _process(self, record: ConsumedRecord, timestamp: int, source: SourceNode, now_ms: int) -> None:
        row = Record(record.key, record.value, timestamp, record.headers)
        self._run(lambda: source.process(row), record, timestamp, source, now_ms)

    def _run(
        self, process: Callable[[], None], record: ConsumedRecord, timestamp: int, source: SourceNode, now_ms: int
    ) -> None:
        context = self.context
        context.record_context = RecordContext(timestamp, record.offset, record.partition, record.topic, record.headers)
        context.set_current_node(source)
        context.system_time_ms = now_ms
        try:
            process()
        except FailedProcessing as failed:
            raise self._failed(record, str(failed)) from failed.__cause__
        except (StreamsException, TaskCorruptedException):
            raise
        except Exception as error:
            raise self._failed(record) from error
        finally:
            context.set_current_node(None)

    def _failed(self, record: ConsumedRecord, message: str = "") -> StreamsException:
        return StreamsException(
            message
            or f"Exception caught in process. taskId={self.task_id}, topic={record.topic}, partition={record.partition}, "
            f"offset={record.offset}"
        )

    def position(self) -> dict[tuple[str, int], int]:
        """Return the offset of the last record of each partition that was processed into its stores."""
        consumed = {partition: offset - 1 for partition, offset in self.committed.items()} | self.consumed
        return consumed | self.coroutines.handed_on(consumed)

    def hand_on(self, now_ms: int, *, all_of_them: bool = False) -> bool:
        """Process records further whose coroutines have ended.

        Args:
            now_ms: The wall clock.
            all_of_them: Whether to wait for running coroutines.

        Returns:
            Whether there was such a record.

        Raises:
            StreamsException: A coroutine or a node failed.
        """
        self.context.system_time_ms = now_ms
        try:
            return self.coroutines.hand_on(all_of_them=all_of_them)
        except FailedProcessing as failed:
            raise StreamsException(str(failed)) from failed.__cause__

    def schedule(self, interval_ms: int, type: PunctuationType, punctuator: Callable[[int], Any]) -> Cancellable:
        """Schedule a punctuation: see `ProcessorContext.schedule`. By stream time the first call is immediate."""
        node = self.context.current_node
        if node is None:
            raise RuntimeError("Current node is null")
        if type is PunctuationType.STREAM_TIME:
            return self._stream_time.schedule(Punctuation(node, 0, interval_ms, punctuator))
        start = self.context.system_time_ms + interval_ms
        return self._wall_clock.schedule(Punctuation(node, start, interval_ms, punctuator))

    def punctuate_stream_time(self, now_ms: int) -> bool:
        """Call punctuators due by stream time; return whether there was one."""
        if self.stream_time < 0:
            return False
        due = self._stream_time.next_time() if self._has_coroutines else None
        if due is not None and due <= self.stream_time:
            self.hand_on(now_ms, all_of_them=True)
        self.context.system_time_ms = now_ms
        return self._punctuated(self._stream_time.punctuate(self.stream_time, self._call))

    def punctuate_system_time(self, now_ms: int) -> bool:
        """Call punctuators due by the wall clock; return whether there was one."""
        self.context.system_time_ms = now_ms
        return self._punctuated(self._wall_clock.punctuate(now_ms, self._call))

    def prepare_commit(self) -> dict[tuple[str, int], int]:
        """Flush the caches; return the offsets to commit, of the next record of each partition."""
        if not self.commit_needed:
            return {}
        self._flush_caches()
        while self.coroutines.are_running:  # for updates from a cache, which may fill other caches
            self._flush_caches()
        self.context.collector.send_waiting()
        return {partition: self._next_offset(partition, offset) for partition, offset in self.consumed.items()}

    def _flush_caches(self) -> None:
        self.hand_on(self.context.system_time_ms, all_of_them=True)
        with garbage.paused():  # a full collection would visit the whole cache
            self.state.flush_caches()

    def post_commit(self) -> None:
        """Clear the commit flags after the offsets of `prepare_commit` were committed."""
        self.commit_needed = False
        self.commit_requested = False

    # --- within -----------------------------------------------------------------------------------------------------------

    def _queue(self, topic: str, partition: int, default_extractor: Any) -> RecordQueue:
        source = self.topology.source(topic)
        extractor = source.timestamp_extractor or default_extractor
        return RecordQueue(topic, partition, source, extractor, self._deserialize, self._drop)

    def _deserialize(self, source: SourceNode, raw: ConsumedRecord) -> ConsumedRecord | None:
        record = deserialized(source, raw, self._deserialization, self.context, self._drop)
        if self._raw is not None and record is not None:
            partition = raw.topic, raw.partition
            self._raw.keep(
                raw, self.position().get(partition, -1) if self._has_coroutines else self.consumed.get(partition, -1)
            )
        return record

    def source_raw(self, context: RecordContext | None) -> tuple[bytes | None, bytes | None]:
        """Return key and value of the input record; they are stored only if there is a dead-letter topic."""
        return (None, None) if self._raw is None else self._raw.find(context)

    def _next_offset(self, partition: tuple[str, int], consumed: int) -> int:
        head = self.group.queues[partition].head
        return consumed + 1 if head is None else head.record.offset

    def _punctuated(self, punctuated: bool) -> bool:
        self.commit_needed = self.commit_needed or punctuated
        return punctuated

    def _call(self, punctuation: Punctuation, now: int) -> None:
        context = self.context
        context.record_context = RecordContext(now, -1, -1, None, [])
        context.set_current_node(punctuation.node)
        failed = f"Exception caught while punctuating processor '{punctuation.node.name}'"
        try:
            punctuation.punctuator(now)
        except FailedProcessing as error:
            raise StreamsException(failed) from error.__cause__
        except (TaskCorruptedException, TaskMigratedException):
            raise
        except Exception as error:
            where = error_context(context.record_context, punctuation.node.name, self.task_id)
            if settle(self._processing.handle(where, None, error), context.send_dead_letter):
                raise StreamsException(failed) from error
            self._drop()
        finally:
            context.set_current_node(None)

    def _close_topology(self) -> None:
        first: Exception | None = None
        for node in self.topology.nodes:
            self.context.set_current_node(node)
            try:
                node.close()
            except Exception as error:
                first = first or error
            finally:
                self.context.set_current_node(None)
        if first is not None:
            raise first

    def _drop(self) -> None:
        self.dropped_records += 1


def deserialized(
    source: SourceNode,
    raw: ConsumedRecord,
    handler: DeserializationExceptionHandler,
    context: NodeContext,
    drop: Callable[[], None],
) -> ConsumedRecord | None:
    """Return the record with key and value deserialized; None if that fails and the handler decides to continue.

    Raises:
        StreamsException: It cannot be deserialized and the handler decides to fail, or fails itself.
    """
    try:
        return raw._replace(
            key=source.key_deserializer.deserialize(raw.topic, raw.key),
            value=source.value_deserializer.deserialize(raw.topic, raw.value),
        )
    except Exception as error:
        where = error_context(
            RecordContext(raw.timestamp, raw.offset, raw.partition, raw.topic, raw.headers),
            source.name,
            context.task_id,
            (raw.key, raw.value),
        )
        try:
            response = handler.handle(where, raw, error)
        except Exception as fatal:
            raise StreamsException("Fatal user code error in deserialization error callback") from fatal
        if settle(response, context.send_dead_letter):
            raise StreamsException(
                "Deserialization exception handler is set to fail upon a deserialization error. If you would rather have the "
                "streaming pipeline continue after a deserialization error, please set the "
                "default.deserialization.exception.handler appropriately."
            ) from error
        drop()
        return None
