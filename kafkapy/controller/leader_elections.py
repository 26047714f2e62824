"""Processes requested elections: by an admin, the legacy znode, the balance of leaders, a changed config."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable

from kafkapy.common.leader_and_isr import NO_LEADER, LeaderAndIsr
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.wire_enums import ElectionType
from kafkapy.controller.core import ControllerCore
from kafkapy.controller.election import ElectionStrategy, preferred_replica_leader_election
from kafkapy.controller.event_manager import ControllerEvent
from kafkapy.controller.partition_state_machine import ElectionOutcome, StateChangeFailedError
from kafkapy.controller.states import PartitionState
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.zk.handlers import ZNodeChangeHandler
from kafkapy.zk.zk_data import PreferredReplicaElectionZNode

log = logging.getLogger("kafkapy.controller")

FIRST_BALANCE_DELAY_MS = 5_000
"""Delay of the first balance after an election (Kafka's `scheduleAutoLeaderRebalanceTask`)."""


class LeaderElections:
    """Works for the active controller only."""

    def __init__(self, core: ControllerCore) -> None:
        self._core = core
        self.handler = ZNodeChangeHandler(
            PreferredReplicaElectionZNode.path,
            handle_creation=lambda: core.put("ZkPreferredReplicaElection", self.process_zk_election),
        )

    # --- ElectLeaders ---------------------------------------------------------------------------------------------

    def elect_leaders(
        self, partitions: Iterable[TopicPartition], election_type: ElectionType
    ) -> dict[TopicPartition, KafkaError | int]:
        """Elect leaders at an admin's request, which may contain duplicates.

        Returns the new leader of each partition, or its error.
        """
        results: dict[TopicPartition, KafkaError | int] = {}
        electable: list[TopicPartition] = []
        for partition in dict.fromkeys(partitions):
            refusal = self._refusal(partition, election_type)
            if refusal is None:
                electable.append(partition)
            else:
                results[partition] = refusal
        preferred = election_type is ElectionType.PREFERRED
        strategy = ElectionStrategy.PREFERRED_REPLICA if preferred else ElectionStrategy.UNCLEAN
        log.info("Election of %s leaders for %d partitions, asked for by an admin", election_type.name, len(electable))
        for partition, outcome in self._elect(electable, strategy).items():
            results[partition] = _answer(outcome, election_type)
        return results

    def _refusal(self, partition: TopicPartition, election_type: ElectionType) -> KafkaError | None:
        context = self._core.context
        replicas = context.replica_assignment(partition).replicas
        if not replicas:
            return KafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
        if partition.topic in context.topics_to_be_deleted:
            return KafkaError(Errors.INVALID_TOPIC_EXCEPTION, "The topic is being deleted")
        state = context.leadership.get(partition)
        leader = NO_LEADER if state is None else state.leader_and_isr.leader
        if election_type is ElectionType.PREFERRED:
            needed = leader != replicas[0]
        else:
            needed = leader == NO_LEADER or leader not in context.live_broker_ids
        return None if needed else KafkaError(Errors.ELECTION_NOT_NEEDED)

    def _elect(
        self, partitions: Collection[TopicPartition], strategy: ElectionStrategy
    ) -> dict[TopicPartition, ElectionOutcome]:
        return self._core.partition_state_machine.handle_state_changes(partitions, PartitionState.ONLINE, strategy)

    # --- the legacy znode -----------------------------------------------------------------------------------------

    def initialize(self) -> None:
        """Start the elections requested in the legacy znode; called after a failover."""
        self.process_zk_election()

    def process_zk_election(self) -> None:
        """Elect the preferred replicas of the partitions in /admin/preferred_replica_election, and delete that znode."""
        core = self._core
        if not core.zk_client.register_znode_change_handler_and_check_existence(self.handler):
            return
        asked = core.zk_client.get_preferred_replica_election()
        electable = [p for p in sorted(asked) if self._refusal(p, ElectionType.PREFERRED) is None]
        log.info("Election of preferred leaders for %s, asked for through ZooKeeper", [*map(str, electable)])
        self._elect(electable, ElectionStrategy.PREFERRED_REPLICA)
        core.zk_client.delete_preferred_replica_election(core.context.epoch_zk_version)
        core.put("ZkPreferredReplicaElection", self.process_zk_election)

    # --- balance --------------------------------------------------------------------------------------------------

    def schedule_balance(self, delay_ms: int = FIRST_BALANCE_DELAY_MS) -> None:
        """Schedule the first balance of leaders; it is repeated periodically."""
        event = ControllerEvent("AutoPreferredReplicaLeaderElection", self.process_balance)
        self._core.events.put_delayed(event, delay_ms)

    def process_balance(self) -> None:
        if not self._core.is_active:
            return
        try:
            self.balance_leaders()
        finally:
            self.schedule_balance(self._core.config.leader_imbalance_check_interval_seconds * 1000)

    def balance_leaders(self) -> None:
        """Elect the preferred replicas of each broker that leads too small a part of the partitions it is preferred for."""
        context = self._core.context
        preferred: dict[int, int] = {}
        missed: dict[int, list[TopicPartition]] = {}
        for partition in context.all_partitions():
            replicas = context.replica_assignment(partition).replicas
            if partition.topic in context.topics_to_be_deleted or not replicas:
                continue
            broker_id = replicas[0]
            preferred[broker_id] = preferred.get(broker_id, 0) + 1
            state = context.leadership.get(partition)
            if state is not None and state.leader_and_isr.leader != broker_id:
                missed.setdefault(broker_id, []).append(partition)
        for broker_id, partitions in missed.items():
            ratio = len(partitions) / preferred[broker_id]
            if ratio * 100 > self._core.config.leader_imbalance_per_broker_percentage:
                candidates = [p for p in partitions if self._can_preferred_replica_lead(p)]
                if not candidates:
                    continue
                log.info(
                    "Broker %d does not lead %d of the %d partitions it should lead: electing it for the %d it can",
                    broker_id,
                    len(partitions),
                    preferred[broker_id],
                    len(candidates),
                )
                self._elect(candidates, ElectionStrategy.PREFERRED_REPLICA)

    def _can_preferred_replica_lead(self, partition: TopicPartition) -> bool:
        context = self._core.context
        replicas = context.replica_assignment(partition).replicas
        isr = context.leadership[partition].leader_and_isr.isr
        return preferred_replica_leader_election(replicas, isr, context.online_replicas(partition)) is not None

    # --- unclean elections by config ------------------------------------------------------------------------------

    def process_unclean_election_enabled(self, topic: str | None) -> None:
        """Elect leaders after unclean.leader.election.enable was set to true, for one topic or (None) as default."""
        log.info("Unclean leader election is enabled %s", "by default" if topic is None else f"for topic {topic}")
        self._core.partition_state_machine.trigger_online_partition_state_change(topic)


def _answer(outcome: ElectionOutcome, election_type: ElectionType) -> KafkaError | int:
    if isinstance(outcome, LeaderAndIsr):
        return outcome.leader
    if isinstance(outcome, StateChangeFailedError):
        if election_type is ElectionType.PREFERRED:
            return KafkaError(Errors.PREFERRED_LEADER_NOT_AVAILABLE, str(outcome))
        return KafkaError(Errors.ELIGIBLE_LEADERS_NOT_AVAILABLE, str(outcome))
    return outcome if isinstance(outcome, KafkaError) else KafkaError(Errors.UNKNOWN_SERVER_ERROR)
