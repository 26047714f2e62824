"""A sink task with a consumer that does as it is told, for tests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from kafkapy.common.time import MockTime
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.connect.converters.converter import Converter, HeaderConverter
from kafkapy.connect.converters.simple_header_converter import SimpleHeaderConverter
from kafkapy.connect.converters.string_converter import StringConverter
from kafkapy.connect.data.schema_and_value import SchemaAndValue
from kafkapy.connect.runtime.errors.errant_reporter import WorkerErrantRecordReporter
from kafkapy.connect.runtime.errors.retry_operator import ErrorReporter, RetryWithToleranceOperator
from kafkapy.connect.runtime.errors.stage import ToleranceType
from kafkapy.connect.runtime.metrics import ConnectMetrics
from kafkapy.connect.runtime.sink_records import SinkRecordMaker
from kafkapy.connect.runtime.sink_task import SinkTaskParts, WorkerSinkTask
from kafkapy.connect.runtime.task_metrics import MeasuredSink
from kafkapy.connect.runtime.transformation_chain import TransformationChain, TransformationStage
from kafkapy.connect.sink import SinkTask
from kafkapy.connect.storage import ConnectorTaskId, TargetState
from kafkapy.consumer.listener import ConsumerRebalanceListener
from kafkapy.consumer.records import ConsumerRecord
from kafkapy.errors import IllegalStateError, WakeupException
from kafkapy.structs import OffsetAndMetadata
from tests.connect.runtime.test_worker_task import Listener, Topics

ID = ConnectorTaskId("files", 0)
TP = TopicPartition("lines", 0)
Polled = dict[TopicPartition, list[ConsumerRecord[Any, Any]]]


def consumed(
    offset: int, value: bytes | None = b"x", headers: Any = (), timestamp: int = 5
) -> ConsumerRecord[Any, Any]:
    return ConsumerRecord("lines", 0, -1, offset, timestamp, 0, None, value, list(headers), None, -1, -1, -1)


class FakeConsumer:
    """`polls` are done one after the other; after the last one the task stops. A commit can be held back."""

    def __init__(self, time: MockTime) -> None:
        self.time = time
        self.polls: list[Callable[[], Polled]] = []
        self.waits: list[float] = []
        self.listener: ConsumerRebalanceListener | None = None
        self.topics: Any = None
        self.pattern: Any = None
        self.positions: dict[TopicPartition, int] = {}
        self.paused: set[TopicPartition] = set()
        self.commits: list[dict[TopicPartition, int]] = []
        self.callbacks: list[Callable[[Exception | None], None]] = []
        self.commit_error: Exception | None = None
        self.holds_commits = False
        self.ends: Callable[[], None] = lambda: None
        self.closed = False

    def subscribe(self, topics: Any = (), pattern: Any = None, listener: Any = None) -> None:
        self.topics, self.pattern, self.listener = topics, pattern, listener

    def assignment(self) -> set[TopicPartition]:
        return set(self.positions)

    def position(self, partition: TopicPartition) -> int:
        return self.positions[partition]

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.positions[partition] = offset

    def pause(self, *partitions: TopicPartition) -> None:
        if not set(partitions) <= set(self.positions):
            raise IllegalStateError("not assigned")
        self.paused.update(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        self.paused.difference_update(partitions)

    def wakeup(self) -> None: ...

    def poll(self, timeout_ms: float) -> Polled:
        self.waits.append(timeout_ms)
        if not self.holds_commits:
            for callback in self.callbacks[:]:
                callback(self.commit_error)
            self.callbacks.clear()
        if not self.polls:
            self.ends()
            raise WakeupException("stop")
        return self.polls.pop(0)()

    def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        if self.commit_error is not None:
            raise self.commit_error
        self.commits.append({partition: at.offset for partition, at in offsets.items()})

    def commit_async(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], callback: Any) -> None:
        self.commits.append({partition: at.offset for partition, at in offsets.items()})
        self.callbacks.append(lambda error: callback(offsets, error))

    def close(self) -> None:
        self.closed = True
        if self.listener is not None and self.positions:
            self.listener.on_partitions_revoked(list(self.positions))

    # -- what polls can do

    def gets(self, *records: ConsumerRecord[Any, Any]) -> None:
        self.polls.append(lambda: {TP: list(records)} if records else {})

    def gets_partitions(self, *partitions: TopicPartition, at: int = 0) -> None:
        def assigned() -> Polled:
            self.positions.update(dict.fromkeys(partitions, at))
            assert self.listener is not None
            self.listener.on_partitions_assigned(partitions)
            return {}

        self.polls.append(assigned)

    def loses_partitions(self, *partitions: TopicPartition, lost: bool = False) -> None:
        def revoked() -> Polled:
            assert self.listener is not None
            (self.listener.on_partitions_lost if lost else self.listener.on_partitions_revoked)(partitions)
            for partition in partitions:
                del self.positions[partition]
            return {}

        self.polls.append(revoked)

    def does(self, action: Callable[[], object]) -> None:
        def act() -> Polled:
            action()
            return {}

        self.polls.append(act)

    def wakes(self) -> None:
        def wake() -> Polled:
            raise WakeupException("woken")

        self.polls.append(wake)


class Notes(SinkTask):
    """Notes its calls. `errors`: raised by the next calls of put, None for a call without one."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.errors: list[Exception | None] = []
        self.on_put: Callable[[Sequence[Any]], None] = lambda records: None
        self.allows: Callable[[Any], Any] = lambda offsets: offsets

    def version(self) -> str:
        return "1"

    def start(self, config: Mapping[str, str]) -> None:
        self.calls.append("start")

    def stop(self) -> None:
        self.calls.append("stop")

    def put(self, records: Sequence[Any]) -> None:
        error = self.errors.pop(0) if self.errors else None
        if records or error:
            self.calls.append([record.value for record in records])
        self.on_put(records)
        if error is not None:
            raise error

    def pre_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> Any:
        self.calls.append(("pre_commit", sorted(at.offset for at in offsets.values())))
        return self.allows(offsets)

    def open(self, partitions: Collection[TopicPartition]) -> None:
        self.calls.append("open")

    def close(self, partitions: Collection[TopicPartition]) -> None:
        self.calls.append("close")


class NoXConverter(StringConverter):
    """Refuses the value `bad`."""

    def to_connect_data(self, topic: str, value: bytes | None, headers: Any = None) -> SchemaAndValue:
        if value == b"bad":
            raise ValueError("bad value")
        return super().to_connect_data(topic, value, headers)


class SinkWorld:
    """A sink task with all that it needs; `run` runs it on this thread until the consumer's polls are used up."""

    def __init__(
        self,
        tolerance: ToleranceType = ToleranceType.NONE,
        reporters: Sequence[ErrorReporter] = (),
        stages: Sequence[TransformationStage] = (),
        config: Mapping[str, str] | None = None,
        reports: bool = False,
    ) -> None:
        self.time = MockTime()
        self.consumer = FakeConsumer(self.time)
        self.notes = Notes()
        self.listener, self.topics = Listener(), Topics()
        self.metrics = ConnectMetrics(self.time)
        measured = MeasuredSink(ID, self.metrics, self.listener)
        operator = RetryWithToleranceOperator(tolerance=tolerance, metrics=measured.errors, time=self.time)
        chain = TransformationChain(stages, operator)
        converters: tuple[Converter, Converter, HeaderConverter] = (
            StringConverter(),
            NoXConverter(),
            SimpleHeaderConverter(),
        )
        state: Any = SimpleNamespace(task_config=lambda id: {"file": "f"})
        consumer: Any = self.consumer
        topics: Any = self.topics
        self.task = WorkerSinkTask(
            SinkTaskParts(
                ID,
                self.notes,
                TargetState.STARTED,
                state,
                converters[2],
                chain,
                SinkRecordMaker(*converters, chain, operator),
                operator,
                lambda: reporters,
                WorkerErrantRecordReporter(operator, *converters) if reports else None,
                consumer,
                topics,
                60_000,
                5_000,
                measured,
                time=self.time,
            )
        )
        self.consumer.ends = self.task.stop
        self.task.initialize(config or {"topics": "lines"})

    def run(self) -> list[Any]:
        """Returns what the sink task was called with."""
        self.task.run()
        return self.notes.calls

    def metric(self, name: str) -> Any:
        (found,) = [value for key, value in self.metrics.read().items() if key.name == name]
        return found
