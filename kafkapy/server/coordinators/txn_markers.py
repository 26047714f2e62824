"""The ends of transactions, written to the logs that this broker leads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial

from kafkapy.common.producer_id import ProducerIdAndEpoch
from kafkapy.common.time import Time
from kafkapy.common.topic_names import GROUP_METADATA_TOPIC
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.group_coordinator import GroupCoordinator
from kafkapy.protocol.errors import NONE, Errors
from kafkapy.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from kafkapy.record.control_records import ControlRecordType, EndTransactionMarker, build_end_transaction_marker
from kafkapy.runtime.clock import Steps, some_of
from kafkapy.server.coordinators.coordinator_log import CoordinatorLog
from kafkapy.server.replication.replica_manager import ReplicaManager

Marker = WriteTxnMarkersRequest.WritableTxnMarker
Outcome = dict[TopicPartition, Errors]


class TxnMarkerWriter:
    """Appends control batches with acks=all, and tells the group coordinator of those in its own topic."""

    def __init__(
        self,
        replica_manager: ReplicaManager,
        coordinator_log: CoordinatorLog,
        groups: GroupCoordinator,
        time: Time,
        timeout_ms: int,
    ) -> None:
        self._replica_manager = replica_manager
        self._log = coordinator_log
        self._groups = groups
        self._time = time
        self._timeout_ms = timeout_ms

    def write(self, markers: Sequence[Marker], done: Callable[[list[Outcome]], None]) -> Steps[None]:
        """`done` gets the error of each partition of each marker, when all are committed or have failed."""
        outcomes: list[Outcome] = []
        left = 1

        def one_less() -> None:
            nonlocal left
            left -= 1
            if not left:
                done(outcomes)

        def finished(of_marker: Outcome, outcome: Outcome) -> None:
            of_marker.update(outcome)
            one_less()

        for marker in markers:
            producer = ProducerIdAndEpoch(marker.producer_id, marker.producer_epoch)
            kind = ControlRecordType.COMMIT if marker.transaction_result else ControlRecordType.ABORT
            end = EndTransactionMarker(kind, marker.coordinator_epoch)
            of_marker: Outcome = {}
            outcomes.append(of_marker)
            for some in some_of(_partitions(marker)):
                left += 1
                self.end(producer, end, some, partial(finished, of_marker))
                yield
            yield
        one_less()

    def end(
        self,
        producer: ProducerIdAndEpoch,
        marker: EndTransactionMarker,
        partitions: Collection[TopicPartition],
        done: Callable[[Outcome], None],
    ) -> None:
        """End the producer's transaction in these partitions. `done` as of `write`."""
        outcome: Outcome = {}
        left = 1 + len(partitions)

        def finished(partition: TopicPartition, error: Errors, offset: int) -> None:
            outcome[partition] = error
            one_less()

        def one_less() -> None:
            nonlocal left
            left -= 1
            if not left:
                self._tell_groups(producer.producer_id, marker, outcome)
                done(outcome)

        batch = build_end_transaction_marker(
            timestamp=self._time.milliseconds(),
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            marker=marker,
        )
        for partition in partitions:
            self._append(partition, batch, partial(finished, partition))
        one_less()

    def _append(self, partition: TopicPartition, batch: bytes, done: Callable[[Errors, int], None]) -> None:
        local = self._replica_manager.partition(partition)
        if local is None or local.log is None:
            done(Errors.UNKNOWN_TOPIC_OR_PARTITION, -1)
        elif local.log.config.record_version < 2:
            done(Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT, -1)
        else:
            self._log.append(partition, batch, done, self._timeout_ms)

    def _tell_groups(self, producer_id: int, marker: EndTransactionMarker, outcome: Outcome) -> None:
        ended = [
            name.partition for name, error in outcome.items() if name.topic == GROUP_METADATA_TOPIC and error is NONE
        ]
        if ended:
            self._groups.on_transaction_completed(producer_id, ended, marker.control_type is ControlRecordType.COMMIT)


def _partitions(marker: Marker) -> Iterator[TopicPartition]:
    for topic in marker.topics:
        for index in topic.partition_indexes:
            yield TopicPartition(topic.name, index)
