"""Sends transaction markers to the leaders of the partitions (Kafka's `TransactionMarkerChannelManager`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from kafkapy.common.partitions_by_topic import indexes_by_topic
from kafkapy.common.topic_names import TRANSACTION_STATE_TOPIC
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.transaction.transaction import SendMarkers, Transaction
from kafkapy.protocol.errors import NONE, Errors, KafkaError
from kafkapy.protocol.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from kafkapy.record.control_records import ControlRecordType, EndTransactionMarker
from kafkapy.runtime.clock import Clock
from kafkapy.runtime.completion import run, spawn
from kafkapy.server.coordinators.txn_markers import Marker, Outcome, TxnMarkerWriter
from kafkapy.server.inter_broker.broker_clients import BrokerClients
from kafkapy.server.metadata.metadata_cache import MetadataCache

log = logging.getLogger("kafkapy.coordinator.transaction.TransactionMarkerChannelManager")

RETRY_MS = 50
"""Delay before a retry if a partition's leader is unknown or has just changed: half of the default `retry.backoff.ms`
of Java's clients."""
STRANGE_RETRY_MS = 10_000
"""Delay after an error that is not about leaders, replicas or disks, and will hardly end by itself."""
GONE_AFTER_MS = 1_000
"""How long a partition must have been unknown before it counts as deleted: metadata may be incomplete for a short
time."""
MARKERS_PER_REQUEST = 1000
"""Bounds the size of a request; further markers go into the next one."""

_DONE = (NONE, Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT, Errors.UNSUPPORTED_VERSION)
_PASSING = (
    Errors.UNKNOWN_TOPIC_OR_PARTITION,
    Errors.NOT_LEADER_OR_FOLLOWER,
    Errors.NOT_ENOUGH_REPLICAS,
    Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    Errors.REQUEST_TIMED_OUT,
    Errors.KAFKA_STORAGE_ERROR,
)
_FENCED = (Errors.INVALID_PRODUCER_EPOCH, Errors.TRANSACTION_COORDINATOR_FENCED)


class MarkerJob:
    """A transaction's markers for partitions with a common leader."""

    __slots__ = ("commit", "coordinator_epoch", "order", "partitions", "transaction", "unknown_since_ms")

    def __init__(
        self, transaction: Transaction, order: SendMarkers, coordinator_epoch: int, partitions: Iterable[TopicPartition]
    ) -> None:
        self.transaction = transaction
        self.order = order
        self.coordinator_epoch = coordinator_epoch
        self.partitions = set(partitions)
        self.unknown_since_ms: int | None = None

    def part(self, partitions: Iterable[TopicPartition]) -> MarkerJob:
        return MarkerJob(self.transaction, self.order, self.coordinator_epoch, partitions)

    def marker(self) -> Marker:
        topics = indexes_by_topic(sorted(self.partitions))
        return Marker(
            producer_id=self.order.producer.producer_id,
            producer_epoch=self.order.producer.epoch,
            transaction_result=self.order.commit,
            topics=[
                WriteTxnMarkersRequest.WritableTxnMarkerTopic(name=topic, partition_indexes=indexes)
                for topic, indexes in topics.items()
            ],
            coordinator_epoch=self.coordinator_epoch,
        )


class MarkerChannels:
    """Implements `MarkerSender`. Markers for partitions led by this broker are written without the network.

    Invariants: each partition of a transaction, unless deleted, is in one job: in `_new`, in a queue, in a request, or
    in `_retry`. A broker in `_busy` has a request in flight, and its queue waits. The jobs in `_new` are sent in the
    reactor's next iteration.
    """

    def __init__(
        self,
        broker_id: int,
        listener_name: str,
        cache: MetadataCache,
        writer: TxnMarkerWriter,
        brokers: BrokerClients,
        clock: Clock,
        version: int,
        written: Callable[[Transaction, Iterable[TopicPartition]], None],
    ) -> None:
        """`version`: of WriteTxnMarkers, by inter.broker.protocol.version. `written`: the callback of
        `MarkerSender`."""
        self._broker_id = broker_id
        self._listener_name = listener_name
        self._cache = cache
        self._writer = writer
        self._brokers = brokers
        self._clock = clock
        self._version = version
        self._written = written
        self._new: list[MarkerJob] = []
        self._queues: dict[int, list[MarkerJob]] = {}
        self._busy: set[int] = set()
        self._retry: dict[int, list[MarkerJob]] = {}
        """Jobs by delay; each delay has a timer."""
        self._stopped = False

    def close(self) -> None:
        self._stopped = True
        self._new.clear()
        self._queues.clear()
        self._retry.clear()
        self._brokers.close()

    @property
    def waiting_for_leaders(self) -> int:
        """Return the number of markers for partitions whose leader is unknown, or has just refused them."""
        return sum(len(job.partitions) for jobs in self._retry.values() for job in jobs)

    def queued(self) -> dict[int, int]:
        """Return broker id → number of queued markers."""
        return {broker: sum(len(job.partitions) for job in jobs) for broker, jobs in self._queues.items()}

    def send(self, transaction: Transaction, order: SendMarkers, coordinator_epoch: int) -> None:
        """Send the markers in the reactor's next iteration, together with those of other transactions.

        So the request that has ended the transaction is answered first; no further request is read before.
        """
        self._new.append(MarkerJob(transaction, order, coordinator_epoch, order.partitions))
        if len(self._new) == 1:
            self._clock.later(0, self._begin)

    def _begin(self) -> None:
        jobs, self._new = self._new, []
        for job in jobs:
            self._route(job)

    def _route(self, job: MarkerJob) -> None:
        """Distribute the job to the partitions' leaders; partitions without leader are retried later."""
        if job.transaction.is_gone or self._stopped:
            return
        by_leader: dict[int, list[TopicPartition]] = {}
        gone: list[TopicPartition] = []
        unknown: list[TopicPartition] = []
        without_leader: list[TopicPartition] = []
        for name in job.partitions:
            state = self._cache.partition_state(*name)
            if state is None:
                (gone if self._is_deleted(job) else unknown).append(name)
            elif state.leader == self._broker_id or self._cache.alive_broker(state.leader, self._listener_name):
                by_leader.setdefault(state.leader, []).append(name)
            else:
                without_leader.append(name)
        if unknown:
            later = job.part(unknown)
            since = job.unknown_since_ms
            later.unknown_since_ms = self._clock.monotonic_ms() if since is None else since
            self._try_later(later)
        if without_leader:
            self._try_later(job.part(without_leader))
        for leader, names in by_leader.items():
            self._send_to(leader, job if len(names) == len(job.partitions) else job.part(names))
        if gone:
            log.info("%s are deleted: the transaction of %s ends without them", gone, job.transaction.key)
            self._written(job.transaction, gone)

    def _is_deleted(self, job: MarkerJob) -> bool:
        since = job.unknown_since_ms
        is_known = self._cache.contains_topic(TRANSACTION_STATE_TOPIC)
        return is_known and since is not None and self._clock.monotonic_ms() - since >= GONE_AFTER_MS

    def _try_later(self, job: MarkerJob, delay_ms: int = RETRY_MS) -> None:
        waiting = self._retry.get(delay_ms)
        if waiting is None:
            self._retry[delay_ms] = [job]
            self._clock.schedule_once("transaction markers again", partial(self._try_again, delay_ms), delay_ms)
        else:
            waiting.append(job)

    def _try_again(self, delay_ms: int) -> None:
        for job in self._retry.pop(delay_ms, ()):
            self._route(job)

    # ------------------------------------------------------------------------------------------------ sending

    def _send_to(self, leader: int, job: MarkerJob) -> None:
        if leader == self._broker_id:
            run(self._write_here(job))
            return
        self._queues.setdefault(leader, []).append(job)
        if leader not in self._busy:
            self._busy.add(leader)
            spawn(self._send_queue(leader))

    async def _write_here(self, job: MarkerJob) -> None:
        kind = ControlRecordType.COMMIT if job.order.commit else ControlRecordType.ABORT
        marker = EndTransactionMarker(kind, job.coordinator_epoch)
        self._answered(job, await self._writer.end(job.order.producer, marker, sorted(job.partitions)))

    async def _send_queue(self, leader: int) -> None:
        """Send one request at a time; markers added meanwhile go into the next one."""
        try:
            while queue := self._queues.pop(leader, None):
                jobs = [job for job in queue[:MARKERS_PER_REQUEST] if not job.transaction.is_gone]
                if queue[MARKERS_PER_REQUEST:]:
                    self._queues[leader] = queue[MARKERS_PER_REQUEST:]
                if jobs:
                    await self._send_all(leader, jobs)
        finally:
            self._busy.discard(leader)

    async def _send_all(self, leader: int, jobs: Sequence[MarkerJob]) -> None:
        request = WriteTxnMarkersRequest(markers=[job.marker() for job in jobs])
        try:
            response: WriteTxnMarkersResponse = await self._brokers[leader].call(request, self._version)
        except KafkaError as error:
            log.debug("Broker %d has not answered for %d markers: %s", leader, len(jobs), error)
            for job in jobs:
                self._try_later(job)
            return
        outcomes: dict[int, Outcome] = {}
        for marker in response.markers:
            outcome = outcomes.setdefault(marker.producer_id, {})
            for topic in marker.topics:
                for result in topic.partitions:
                    outcome[TopicPartition(topic.name, result.partition_index)] = Errors.for_code(result.error_code)
        for job in jobs:
            self._answered(job, outcomes.get(job.order.producer.producer_id, {}))

    def _answered(self, job: MarkerJob, outcome: Outcome) -> None:
        if all(outcome.get(name) is NONE for name in job.partitions):
            self._written(job.transaction, job.partitions)
            return
        fenced = [name for name in job.partitions if outcome.get(name) in _FENCED]
        if fenced:
            # Another coordinator, or the producer, has a newer epoch, and will end this transaction.
            log.info(
                "The marker of %s is not taken: %s", job.transaction.key, {str(n): outcome[n].name for n in fenced}
            )
            return
        done = [name for name in job.partitions if outcome.get(name) in _DONE]
        left = job.partitions.difference(done)
        strange = {name: error for name in left if (error := outcome.get(name)) not in (None, *_PASSING)}
        if strange:
            log.warning(
                "%s is not ended in %s, which is tried again every %d s",
                job.transaction.key, {str(name): error.name for name, error in strange.items() if error},
                STRANGE_RETRY_MS // 1000,
            )  # fmt: skip
            self._try_later(job.part(strange), STRANGE_RETRY_MS)
        if passing := left.difference(strange):
            self._try_later(job.part(passing))
        if done:
            self._written(job.transaction, done)
