"""Processes leaders' ISR changes: AlterPartition (KIP-497), and notifications of leaders older than 2.7."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from kafkapy.common.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch, LeaderRecoveryState
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.controller.core import ControllerCore
from kafkapy.controller.reassignment import PartitionReassignments
from kafkapy.controller.state_change_log import describe_change
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from kafkapy.zk.handlers import ZNodeChildChangeHandler
from kafkapy.zk.zk_data import IsrChangeNotificationZNode

log = logging.getLogger("kafkapy.controller")

Outcome = LeaderAndIsr | Errors
"""The partition's new or unchanged state, or an error."""


class IsrChanges:
    """Works for the active controller only."""

    def __init__(self, core: ControllerCore, reassignments: PartitionReassignments) -> None:
        self._core = core
        self._reassignments = reassignments
        self.child_handler = ZNodeChildChangeHandler(
            IsrChangeNotificationZNode.path,
            lambda: core.put("IsrChangeNotification", self.process_isr_change_notification),
        )

    # --- AlterPartition -------------------------------------------------------------------------------------------

    def alter_partition(
        self, request: AlterPartitionRequest, version: int
    ) -> tuple[AlterPartitionResponse, list[TopicPartition]]:
        """Write the ISRs that a leader requests.

        Returns the response and the partitions with the requested state, which must be passed to
        `complete_reassignments` after the response is sent.
        """
        epoch = self._core.context.live_broker_epochs.get(request.broker_id)
        if epoch != request.broker_epoch:
            log.info(
                "AlterPartition of broker %d refused: its epoch is %d, the live broker's %s",
                request.broker_id,
                request.broker_epoch,
                epoch,
            )
            return AlterPartitionResponse(error_code=Errors.STALE_BROKER_EPOCH.code), []
        response = AlterPartitionResponse()
        asked = self._partitions_to_alter(request, version, response)
        outcomes = {partition: self._judge(partition, state, version) for partition, state in asked.items()}
        self._write(
            {partition: asked[partition] for partition, outcome in outcomes.items() if outcome is None}, outcomes
        )
        self._core.send_update_metadata_to_all(asked)
        self._add_answers(response, outcomes, version)
        return response, [p for p, outcome in outcomes.items() if isinstance(outcome, LeaderAndIsr)]

    def complete_reassignments(self, partitions: Iterable[TopicPartition]) -> None:
        """Complete reassignments that were waiting for these partitions' ISRs."""
        for partition in partitions:
            if partition in self._core.context.partitions_being_reassigned:
                self._reassignments.maybe_complete(partition)

    def _partitions_to_alter(
        self, request: AlterPartitionRequest, version: int, response: AlterPartitionResponse
    ) -> dict[TopicPartition, LeaderAndIsr]:
        """Return the requested states; partitions with unknown topic ids get their error in the response."""
        asked: dict[TopicPartition, LeaderAndIsr] = {}
        for topic in request.topics:
            name = topic.topic_name if version < 2 else self._core.context.topic_names.get(topic.topic_id)
            if name is None:
                answers = [
                    AlterPartitionResponse.PartitionData(
                        partition_index=partition.partition_index, error_code=Errors.UNKNOWN_TOPIC_ID.code
                    )
                    for partition in topic.partitions
                ]
                response.topics.append(AlterPartitionResponse.TopicData(topic_id=topic.topic_id, partitions=answers))
                continue
            for partition in topic.partitions:
                isr = partition.new_isr if version < 3 else [state.broker_id for state in partition.new_isr_with_epochs]
                asked[TopicPartition(name, partition.partition_index)] = LeaderAndIsr(
                    request.broker_id,
                    tuple(isr),
                    partition.leader_epoch,
                    LeaderRecoveryState(partition.leader_recovery_state),
                    partition.partition_epoch,
                )
        return asked

    def _judge(self, partition: TopicPartition, asked: LeaderAndIsr, version: int) -> Outcome | None:
        """Return the result if no write is needed; None if the state is to be written."""
        state = self._core.context.leadership.get(partition)
        if state is None:
            return Errors.UNKNOWN_TOPIC_OR_PARTITION
        current = state.leader_and_isr
        if asked.partition_epoch > current.partition_epoch or asked.leader_epoch > current.leader_epoch:
            # The leader has a newer state: another controller is active, which the leader has to find.
            return Errors.NOT_CONTROLLER
        if asked.leader_epoch < current.leader_epoch:
            return Errors.FENCED_LEADER_EPOCH
        if asked.with_partition_epoch(current.partition_epoch) == current:
            # A retry after a lost response; so it is checked before the partition epoch.
            return current
        if asked.partition_epoch < current.partition_epoch:
            return Errors.INVALID_UPDATE_VERSION
        recovering = asked.leader_recovery_state is LeaderRecoveryState.RECOVERING
        if recovering and (len(asked.isr) > 1 or current.leader_recovery_state is LeaderRecoveryState.RECOVERED):
            log.info("AlterPartition for %s refused: recovery state %s with ISR %s", partition, asked, list(asked.isr))
            return Errors.INVALID_REQUEST
        ineligible = set(asked.isr) - self._core.context.live_broker_ids
        if ineligible:
            log.info("AlterPartition for %s refused: brokers %s are not live", partition, sorted(ineligible))
            return Errors.INELIGIBLE_REPLICA if version > 1 else Errors.OPERATION_NOT_ATTEMPTED
        return None

    def _write(
        self, states: dict[TopicPartition, LeaderAndIsr], outcomes: dict[TopicPartition, Outcome | None]
    ) -> None:
        zk, context = self._core.zk_client, self._core.context
        if not states:
            return
        written = zk.update_leader_and_isr(states, context.epoch, context.epoch_zk_version)
        for partition, update in written.finished_partitions.items():
            if isinstance(update, LeaderAndIsr):
                old = context.leadership[partition].leader_and_isr
                log.info(
                    "Partition %s: %s, partition epoch %d, asked for by its leader",
                    partition,
                    describe_change(old, update),
                    update.partition_epoch,
                )
                outcomes[partition] = update
                context.leadership[partition] = LeaderIsrAndControllerEpoch(update, context.epoch)
            else:
                log.error("ISR of partition %s could not be written: %s", partition, update)
                outcomes[partition] = Errors.UNKNOWN_SERVER_ERROR
        if written.partitions_to_retry:
            context.leadership.update(zk.get_topic_partition_states(written.partitions_to_retry))
        for partition in written.partitions_to_retry:
            now = context.leadership[partition].leader_and_isr
            if states[partition].with_partition_epoch(now.partition_epoch) == now:
                outcomes[partition] = now  # our own write, whose response was lost
            else:
                log.info("ISR of partition %s not written: its state was changed meanwhile", partition)
                outcomes[partition] = Errors.INVALID_UPDATE_VERSION

    def _add_answers(
        self, response: AlterPartitionResponse, outcomes: dict[TopicPartition, Outcome | None], version: int
    ) -> None:
        topics: dict[str, AlterPartitionResponse.TopicData] = {}
        for partition, outcome in outcomes.items():
            topic = topics.get(partition.topic)
            if topic is None:
                topic = AlterPartitionResponse.TopicData()
                if version > 1:
                    topic.topic_id = self._core.context.topic_ids[partition.topic]
                else:
                    topic.topic_name = partition.topic
                topics[partition.topic] = topic
                response.topics.append(topic)
            answer = AlterPartitionResponse.PartitionData(partition_index=partition.partition)
            if isinstance(outcome, LeaderAndIsr):
                answer.leader_id = outcome.leader
                answer.leader_epoch = outcome.leader_epoch
                answer.isr = list(outcome.isr)
                answer.leader_recovery_state = int(outcome.leader_recovery_state)
                answer.partition_epoch = outcome.partition_epoch
            else:
                answer.error_code = (outcome or Errors.UNKNOWN_SERVER_ERROR).code
            topic.partitions.append(answer)

    # --- notifications --------------------------------------------------------------------------------------------

    def process_isr_change_notification(self) -> None:
        """Read the ISRs that leaders with an inter.broker.protocol.version below 2.7 have written to ZooKeeper."""
        core, context = self._core, self._core.context
        notifications = core.zk_client.get_all_isr_change_notifications()
        try:
            partitions = core.zk_client.get_partitions_from_isr_change_notifications(notifications)
            if partitions:
                context.leadership.update(core.zk_client.get_topic_partition_states(partitions))
                core.send_update_metadata_to_all(partitions)
                self.complete_reassignments(partitions)
        finally:
            core.zk_client.delete_isr_change_notifications(context.epoch_zk_version, notifications)
