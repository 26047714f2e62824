"""The ends of transactions, written to the logs that this broker leads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from kafkapy.common.time import Time
from kafkapy.common.topic_names import GROUP_METADATA_TOPIC
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.group_coordinator import GroupCoordinator
from kafkapy.protocol.errors import NONE, Errors
from kafkapy.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from kafkapy.record.control_records import ControlRecordType, EndTransactionMarker, build_end_transaction_marker
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

    def write(self, markers: Sequence[Marker], done: Callable[[list[Outcome]], None]) -> None:
        """`done` gets the error of each partition of each marker, when all are committed or have failed."""
        outcomes: list[Outcome] = [{} for _ in markers]
        left = 1 + sum(len(topic.partition_indexes) for marker in markers for topic in marker.topics)

        def finished(outcome: Outcome, partition: TopicPartition, error: Errors, offset: int) -> None:
            outcome[partition] = error
            one_less()

        def one_less() -> None:
            nonlocal left
            left -= 1
            if not left:
                for marker, outcome in zip(markers, outcomes, strict=True):
                    self._tell_groups(marker, outcome)
                done(outcomes)

        for marker, outcome in zip(markers, outcomes, strict=True):
            batch = self._batch(marker)
            for topic in marker.topics:
                for index in topic.partition_indexes:
                    partition = TopicPartition(topic.name, index)
                    self._append(partition, batch, partial(finished, outcome, partition))
        one_less()

    def _append(self, partition: TopicPartition, batch: bytes, done: Callable[[Errors, int], None]) -> None:
        local = self._replica_manager.partition(partition)
        if local is None or local.log is None:
            done(Errors.UNKNOWN_TOPIC_OR_PARTITION, -1)
        elif local.log.config.record_version < 2:
            done(Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT, -1)
        else:
            self._log.append(partition, batch, done, self._timeout_ms)

    def _batch(self, marker: Marker) -> bytes:
        kind = ControlRecordType.COMMIT if marker.transaction_result else ControlRecordType.ABORT
        return build_end_transaction_marker(
            timestamp=self._time.milliseconds(),
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            marker=EndTransactionMarker(kind, marker.coordinator_epoch),
        )

    def _tell_groups(self, marker: Marker, outcome: Outcome) -> None:
        ended = [
            name.partition for name, error in outcome.items() if name.topic == GROUP_METADATA_TOPIC and error is NONE
        ]
        if ended:
            self._groups.on_transaction_completed(marker.producer_id, ended, marker.transaction_result)
