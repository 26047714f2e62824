"""Moves batches from the accumulator to the leaders of their partitions (Kafka's `Sender`).

It has no thread and no loop: `run` sends what is ready and sets a timer for what will be ready later. It is called
when a batch was created or filled (`wakeup`), when a response or new metadata has arrived, and when the timer fires.
"""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from kafkapy.clients.driver import Driver, TimerHandle
from kafkapy.clients.metadata import ClusterMetadata, Node
from kafkapy.clients.network_client import NetworkClient
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import (
    BrokerResponseError,
    IncompatibleBrokerVersion,
    KafkaTimeoutError,
    as_client_error,
    error_for,
)
from kafkapy.producer.batch import ProducerBatch
from kafkapy.producer.metrics import ProducerMetrics
from kafkapy.producer.produce_request import ProduceRequestBuilder
from kafkapy.producer.record_accumulator import PartitionQueue, RecordAccumulator
from kafkapy.producer.sequences import Sequences
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.produce import ProduceResponse
from kafkapy.record.compression import CompressionType
from kafkapy.runtime.completion import Completion

_log = logging.getLogger("kafkapy.producer")

_NEVER_MS = float("inf")
_TOO_LARGE = (Errors.MESSAGE_TOO_LARGE, Errors.RECORD_LIST_TOO_LARGE)
"""Errors after which a batch is split. Java's producer splits after the first only; here waiting batches exceed
`batch_size`."""


@dataclass
class SenderConfig:
    """Times in ms, sizes in bytes; `retries` may be infinite."""

    acks: int = -1
    codec: CompressionType = CompressionType.NONE
    retries: float = _NEVER_MS
    linger_ms: float = 0
    delivery_timeout_ms: float = 120_000
    request_timeout_ms: int = 30_000
    retry_backoff_ms: float = 100
    retry_backoff_max_ms: float = 1_000
    max_request_size: int = 1 << 20
    keep_order: bool = False
    """One request in flight for each partition: max_in_flight_requests_per_connection=1 without sequences."""


class TransactionGate(Protocol):
    """The transaction's interface for the sender."""

    transactional_id: str

    def may_send(self, topic_partition: TopicPartition) -> bool: ...

    @property
    def is_completing(self) -> bool: ...

    def explained(self, error: BaseException) -> BaseException: ...

    def batch_failed(self, error: BaseException) -> None: ...


class Sender:
    """Sends the batches of one producer, on the driver's thread.

    Invariant: each batch of the accumulator's `incomplete` is either in its queue or in `in_flight` (sent, not
    acknowledged). `_done` removes it, once.
    """

    def __init__(
        self,
        driver: Driver,
        network: NetworkClient,
        accumulator: RecordAccumulator,
        config: SenderConfig,
        sequences: Sequences | None,
        metrics: ProducerMetrics,
    ) -> None:
        self.driver = driver
        self.network = network
        self.accumulator = accumulator
        self.config = config
        self.sequences = sequences
        self.metrics = metrics
        self.need_producer_id: Callable[[], None] = lambda: None
        """Called when sequences are needed and there is no producer id."""
        self.transaction: TransactionGate | None = None
        self.in_flight: dict[ProducerBatch, None] = {}
        """Batches in flight, oldest first if order is kept."""
        self._unanswered: Counter[int] = Counter()
        """Broker id -> Produce requests in flight."""
        self._woken = False
        self._running = False
        self._timer: TimerHandle | None = None
        self._timer_due_ms = _NEVER_MS
        self._leaders: dict[TopicPartition, int] = {}
        self._turn = 0
        network.metadata.listeners.append(self._metadata_changed)

    # --- when it runs

    def wakeup(self) -> None:
        """Schedule `run`, because there may be work. Thread-safe; cheap if it is already scheduled.

        While responses are outstanding, the driver's thread runs it later, and the open batch grows until then.
        """
        if not self._woken:
            self._woken = True
            if self.in_flight:
                self.driver.call_soon_threadsafe(self.run)
            else:
                self.driver.call_now_or_soon(self.run)

    def _metadata_changed(self, _: ClusterMetadata) -> None:
        self._leaders.clear()
        if self.accumulator.waiting:
            self.wakeup()

    def run(self) -> None:
        """Send the batches that are ready, as far as the brokers' connections accept them."""
        self._woken = False
        if self._running or self.network.closed:
            return
        self._running = True
        try:
            now = self.driver.time.monotonic_ms()
            self._expire(now)
            if not self._prepare_sequences():
                return
            next_ms = self._send_ready(now)
        finally:
            self._running = False
        self._run_again_in(min(next_ms, self._next_expiry(now)))

    def _run_again_in(self, ms: float) -> None:
        due = self.driver.time.monotonic_ms() + ms
        if self._timer is not None:
            if self._timer_due_ms <= due:
                return
            self._timer.cancel()
            self._timer = None
        if ms < _NEVER_MS:
            self._timer_due_ms = due
            self._timer = self.driver.call_later(ms, self._timer_fired)

    def _timer_fired(self) -> None:
        self._timer = None
        self.run()

    # --- sequences

    def _prepare_sequences(self) -> bool:
        """Prepare producer id and epoch; return False if nothing can be sent yet."""
        sequences = self.sequences
        if sequences is None:
            return True
        gaps = sequences.resolve()
        if gaps and self.transaction is not None:
            sentence = f"Records of {', '.join(map(str, gaps))} may be missing in the transaction"
            self.transaction.batch_failed(KafkaTimeoutError(sentence))
        sequences.bump_if_required()
        if not sequences.producer.is_valid:
            if self.transaction is None and self.accumulator.incomplete:
                self.need_producer_id()
            self._run_again_in(self._next_expiry(self.driver.time.monotonic_ms()))
            return False
        return True

    # --- sending

    def _send_ready(self, now: float) -> float:
        """Send ready batches; return in how many ms to check again."""
        next_ms = _NEVER_MS
        by_node: dict[int, list[PartitionQueue]] = {}
        unknown_leaders: set[str] = set()
        completing = self.transaction is not None and self.transaction.is_completing
        for topic_partition, queue in list(self.accumulator.waiting.items()):
            if queue.muted or not queue.batches:
                continue
            leader = self._leader_of(topic_partition)
            if leader < 0:
                unknown_leaders.add(topic_partition.topic)
                continue
            wait = self._wait_of(queue, leader, now, completing)
            if wait > 0:
                next_ms = min(next_ms, wait)
            else:
                by_node.setdefault(leader, []).append(queue)
        if unknown_leaders:
            metadata = self.network.metadata
            metadata.add_topics(unknown_leaders) or metadata.request_update()
        for node_id, queues in by_node.items():
            next_ms = min(next_ms, self._send_to(node_id, queues, now, completing))
        return next_ms

    def _wait_of(self, queue: PartitionQueue, leader: int, now: float, completing: bool) -> float:
        first = queue.batches[0]
        if completing and not first.attempts:
            return 0
        if first.attempts and first.last_node != leader:
            return 0  # a new leader needs no back-off (KIP-951)
        return self.accumulator.is_ready(queue, now, self.config.linger_ms)

    def _leader_of(self, topic_partition: TopicPartition) -> int:
        leader = self._leaders.get(topic_partition)
        if leader is None:
            found = self.network.metadata.leader_of(topic_partition)
            leader = self._leaders[topic_partition] = -1 if found is None else found.leader_id
        return leader

    def _send_to(self, node_id: int, queues: list[PartitionQueue], now: float, completing: bool) -> float:
        """Fill requests for one broker: each has one batch of a partition at most."""
        while queues:
            if not self.network.ready(node_id):
                delay = self.network.connection_delay_ms(node_id)
                if delay > 0:
                    return delay
                if self._unanswered[node_id]:
                    return _NEVER_MS  # a response to one of them runs the sender again; other responses don't
            self._turn += 1
            start = self._turn % len(queues)
            queues = queues[start:] + queues[:start]  # so that no partition is omitted for ever because of the size
            batches = self._take(queues, node_id)
            if not batches:
                return _NEVER_MS
            self._send(node_id, batches)
            queues = [
                q for q in queues if q.batches and not q.muted and self._wait_of(q, node_id, now, completing) <= 0
            ]
        return _NEVER_MS

    def _take(self, queues: list[PartitionQueue], node_id: int) -> list[ProducerBatch]:
        batches: list[ProducerBatch] = []
        room = self.config.max_request_size
        for queue in queues:
            if not queue.batches or queue.muted:
                continue
            batch = queue.batches[0]
            size = batch.size_hint()
            if batches and size > room:
                break
            if not self._may_send(batch, node_id):
                continue
            self.accumulator.take(queue)
            if self.sequences is not None and not batch.has_sequence:
                self.sequences.assign(batch)
            queue.muted = self.config.keep_order
            room -= size
            batches.append(batch)
        return batches

    def _may_send(self, batch: ProducerBatch, node_id: int) -> bool:
        if self.transaction is not None and not self.transaction.may_send(batch.topic_partition):
            return False
        return self.sequences is None or self.sequences.may_send(batch, node_id)

    def _send(self, node_id: int, batches: list[ProducerBatch]) -> None:
        config = self.config
        transactional_id = self.transaction.transactional_id if self.transaction is not None else None
        request = ProduceRequestBuilder(batches, config.acks, config.request_timeout_ms, config.codec, transactional_id)
        for batch in batches:
            batch.last_node = node_id
            batch.attempts += 1
            self.in_flight[batch] = None
        self._unanswered[node_id] += 1
        self.metrics.requested(batches, self.driver.time.monotonic_ms())
        completion = self.network.send(
            node_id, request, timeout_ms=config.request_timeout_ms, min_version=request.min_version
        )
        completion.add_callback(lambda done: self._answered(node_id, batches, done))

    # --- answers

    def _answered(self, node_id: int, batches: list[ProducerBatch], completion: Completion[Any]) -> None:
        self._unanswered[node_id] -= 1
        for batch in batches:
            self.in_flight.pop(batch, None)
            queue = self.accumulator.queue(batch.topic_partition)
            queue.muted = False
        error = completion.exception()
        if error is not None:
            failure = as_client_error(error) if isinstance(error, KafkaError) else error
            for batch in batches:
                batch.sent = batch.sent or not isinstance(error, IncompatibleBrokerVersion)
                self._failed(batch, failure, -1, None)
            if getattr(failure, "retriable", False):
                self.network.metadata.request_update()
        elif self.config.acks == 0:
            for batch in batches:
                self._completed(batch, -1, -1)
        else:
            self._response(batches, completion.result())
        if self.accumulator.waiting:
            self.run()

    def _response(self, batches: list[ProducerBatch], response: ProduceResponse) -> None:
        nodes = [Node(n.node_id, n.host, n.port, n.rack) for n in response.node_endpoints]
        answers = {
            (topic.name, partition.index): partition
            for topic in response.responses
            for partition in topic.partition_responses
        }
        refresh = False
        for batch in batches:
            batch.sent = True
            answer = answers.get(batch.topic_partition)
            if answer is None:
                error = error_for(Errors.UNKNOWN_SERVER_ERROR, "The response does not mention the partition")
                self._failed(batch, error, -1, None)
            elif answer.error_code == 0:
                self._completed(batch, answer.base_offset, answer.log_append_time_ms)
            else:
                code = Errors.for_code(answer.error_code)
                leader = answer.current_leader
                if leader is not None and leader.leader_id >= 0:
                    tp = batch.topic_partition
                    self.network.metadata.update_leader(tp, leader.leader_id, leader.leader_epoch, nodes)
                refresh = refresh or code.refresh_metadata
                blamed = {e.batch_index: e.batch_index_error_message for e in answer.record_errors}
                error = error_for(answer.error_code, answer.error_message)
                self._failed(batch, error, answer.log_start_offset, blamed or None)
        if refresh:
            self.network.metadata.request_update()

    def _completed(self, batch: ProducerBatch, base_offset: int, log_append_time: int) -> None:
        if self.sequences is not None and batch.has_sequence:
            self.sequences.completed(batch, base_offset)
        if not batch.done:
            self.metrics.sent(batch, self.driver.time.monotonic_ms())
            batch.complete(base_offset, log_append_time)
            self._done(batch)

    def _failed(
        self,
        batch: ProducerBatch,
        error: BaseException,
        log_start_offset: int,
        record_errors: dict[int, str | None] | None,
    ) -> None:
        """Process a failed attempt: split the batch, retry it, or fail it."""
        code = getattr(error, "error", Errors.UNKNOWN_SERVER_ERROR)
        if batch.done:
            if self.sequences is not None:
                self.sequences.untrack(batch)
        elif code in _TOO_LARGE and batch.record_count > 1:
            self._split(batch)
        elif code is Errors.DUPLICATE_SEQUENCE_NUMBER:
            self._completed(batch, -1, -1)
        elif self._can_retry(batch, error, code, log_start_offset):
            _log.warning("Retrying %r, attempt %d: %s", batch, batch.attempts, error)
            batch.last_error = error
            self.metrics.retried(batch, self.driver.time.monotonic_ms())
            self._back_off(batch)
            self.accumulator.put_back(batch)
        else:
            # After a non-retriable error of the broker it is certain that the batch wasn't written.
            certain = isinstance(error, BrokerResponseError) and not error.retriable
            self._give_up(batch, error, record_errors, may_be_written=not certain)

    def _can_retry(self, batch: ProducerBatch, error: BaseException, code: Errors, log_start_offset: int) -> bool:
        now = self.driver.time.monotonic_ms()
        if batch.attempts > self.config.retries or batch.created_ms + self.config.delivery_timeout_ms <= now:
            return False
        if self.sequences is not None and batch.has_sequence:
            verdict = self.sequences.can_retry(batch, code, log_start_offset)
            if verdict is not None:
                return verdict
        return bool(getattr(error, "retriable", False))

    def _back_off(self, batch: ProducerBatch) -> None:
        config = self.config
        doubled = config.retry_backoff_ms * 2.0 ** min(batch.attempts - 1, 20)
        backoff = min(doubled, max(config.retry_backoff_max_ms, config.retry_backoff_ms)) * random.uniform(0.8, 1.2)
        batch.retry_at_ms = self.driver.time.monotonic_ms() + backoff

    def _split(self, batch: ProducerBatch) -> None:
        """Send the records in smaller batches: the batch exceeds the topic's limit for batches or segments."""
        _log.info("%r is too large for the topic and is split", batch)
        if self.sequences is not None:
            self.sequences.untrack(batch)
        parts = batch.split(self.accumulator.batch_size)
        if self.sequences is not None:
            for part in parts:
                if part.has_sequence:
                    self.sequences.track(part)
        self.metrics.split(self.driver.time.monotonic_ms())
        self.accumulator.replace(batch, parts)

    def _give_up(
        self,
        batch: ProducerBatch,
        error: BaseException,
        record_errors: dict[int, str | None] | None = None,
        *,
        may_be_written: bool = False,
    ) -> None:
        if self.sequences is not None:
            self.sequences.failed(batch, may_be_written=may_be_written)
        if self.transaction is not None:
            error = self.transaction.explained(error)
            self.transaction.batch_failed(error)
        self.metrics.failed(batch, self.driver.time.monotonic_ms())
        batch.fail(error, record_errors)
        self._done(batch)

    def _done(self, batch: ProducerBatch) -> None:
        self.accumulator.release(batch)
        batch.announce()

    # --- time-outs

    def _expire(self, now: float) -> None:
        """Fail batches, queued or in flight, whose delivery_timeout_ms has passed."""
        limit = now - self.config.delivery_timeout_ms
        late = [batch for batch in self.in_flight if batch.created_ms <= limit and not batch.done]
        for queue in list(self.accumulator.waiting.values()):
            while queue.batches and queue.batches[0].created_ms <= limit:
                late.append(self.accumulator.take(queue))
        for batch in late:
            waited = int(now - batch.created_ms)
            sentence = (
                f"Expiring {batch.record_count} record(s) for {batch.topic_partition}: {waited} ms has passed since "
                "batch creation"
            )
            if batch.last_error is not None:
                sentence += f"; the last attempt has failed with {batch.last_error}"
            self._give_up(batch, KafkaTimeoutError(sentence), may_be_written=batch.attempts > 0)

    def _next_expiry(self, now: float) -> float:
        oldest = [queue.batches[0].created_ms for queue in list(self.accumulator.waiting.values()) if queue.batches]
        in_flight = next(iter(self.in_flight), None)
        if in_flight is not None:
            oldest.append(in_flight.created_ms)
        if not oldest:
            return _NEVER_MS
        return max(0.0, min(oldest) + self.config.delivery_timeout_ms - now) + 1

    # --- the end

    def abort(self, error: KafkaError, *, only_unsent: bool = False) -> None:
        """Fail all unfinished batches, or only those that were never sent."""
        for batch in self.accumulator.unsent():
            if not (only_unsent and batch.attempts):
                self.accumulator.remove(batch)
                self._give_up(batch, error, may_be_written=batch.attempts > 0)
        if not only_unsent:
            for batch in [batch for batch in self.in_flight if not batch.done]:
                self._give_up(batch, error, may_be_written=True)
            self.in_flight.clear()
