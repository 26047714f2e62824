"""Writes transaction markers to the logs led by this broker."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence

from kafkapy.common.producer_id import ProducerIdAndEpoch
from kafkapy.common.topic_names import GROUP_METADATA_TOPIC
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.group_coordinator import GroupCoordinator
from kafkapy.protocol.errors import NONE, Errors
from kafkapy.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from kafkapy.record.control_records import ControlRecordType, EndTransactionMarker, build_end_transaction_marker
from kafkapy.runtime.chunks import chunks
from kafkapy.runtime.clock import Clock
from kafkapy.runtime.completion import Completion, run
from kafkapy.server.coordinators.coordinator_log import CoordinatorLog
from kafkapy.server.replication.replica_manager import ReplicaManager

Marker = WriteTxnMarkersRequest.WritableTxnMarker
Outcome = dict[TopicPartition, Errors]


class TxnMarkerWriter:
    """Appends control batches with acks=all, and notifies the group coordinator of markers in `__consumer_offsets`."""

    def __init__(
        self,
        replica_manager: ReplicaManager,
        coordinator_log: CoordinatorLog,
        groups: GroupCoordinator,
        clock: Clock,
        timeout_ms: int,
    ) -> None:
        self._replica_manager = replica_manager
        self._log = coordinator_log
        self._groups = groups
        self._clock = clock
        self._timeout_ms = timeout_ms

    async def write(self, markers: Sequence[Marker]) -> list[Outcome]:
        """Write the markers; return each partition's error for each marker, when all are committed or have failed."""
        outcomes: list[Outcome] = []
        waiting: deque[tuple[Outcome, Completion[Outcome]]] = deque()
        for marker in markers:
            await self._clock.checkpoint()
            producer = ProducerIdAndEpoch(marker.producer_id, marker.producer_epoch)
            kind = ControlRecordType.COMMIT if marker.transaction_result else ControlRecordType.ABORT
            end = EndTransactionMarker(kind, marker.coordinator_epoch)
            outcome: Outcome = {}
            outcomes.append(outcome)
            for chunk in chunks(_partitions(marker)):
                await self._clock.checkpoint()
                ended = run(self.end(producer, end, chunk))
                if isinstance(ended, Completion):
                    waiting.append((outcome, ended))
                else:
                    outcome.update(ended)
        while waiting:
            await self._clock.checkpoint()
            outcome, ending = waiting.popleft()
            outcome.update(await ending)
        return outcomes

    async def end(
        self, producer: ProducerIdAndEpoch, marker: EndTransactionMarker, partitions: Collection[TopicPartition]
    ) -> Outcome:
        """End the producer's transaction in these partitions; return their errors when all are committed or have
        failed."""
        batch = build_end_transaction_marker(
            timestamp=self._clock.milliseconds(),
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            marker=marker,
        )
        appends = [(partition, self._append(partition, batch)) for partition in partitions]
        outcome = {partition: await appended for partition, appended in appends}
        self._tell_groups(producer.producer_id, marker, outcome)
        return outcome

    def _append(self, partition: TopicPartition, batch: bytes) -> Completion[Errors]:
        local = self._replica_manager.partition(partition)
        if local is None or local.log is None:
            return Completion.of(Errors.UNKNOWN_TOPIC_OR_PARTITION)
        if local.log.config.record_version < 2:
            return Completion.of(Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT)
        done: Completion[Errors] = Completion()
        self._log.append(partition, batch, lambda error, _: done.set_result(error), self._timeout_ms)
        return done

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
