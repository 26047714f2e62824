"""Changes the states of partitions and elects their leaders (Kafka's `ZkPartitionStateMachine`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable

from kafkapy.common import metadata_version
from kafkapy.common.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch, LeaderRecoveryState
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.controller.controller_config import ControllerConfig
from kafkapy.controller.controller_context import ControllerContext
from kafkapy.controller.election import (
    ElectionResult,
    ElectionStrategy,
    leader_for_controlled_shutdown,
    leader_for_offline,
    leader_for_preferred_replica,
    leader_for_reassignment,
)
from kafkapy.controller.request_batch import ControllerBrokerRequestBatch
from kafkapy.controller.state_change_log import describe_change
from kafkapy.controller.states import VALID_PREVIOUS_PARTITION_STATES, PartitionState
from kafkapy.zk.errors import ControllerMovedError
from kafkapy.zk.kafka_zk_client import KafkaZkClient

log = logging.getLogger("kafkapy.controller")

ElectionOutcome = LeaderAndIsr | Exception
"""The state after the election, or its error."""

UNCLEAN_CONFIG = "unclean.leader.election.enable"


class StateChangeFailedError(Exception):
    """The state of a partition or replica could not be changed (Kafka's `StateChangeFailedException`)."""


class PartitionStateMachine:
    """Each change is written to ZooKeeper first, then to the context, then sent to the brokers."""

    def __init__(
        self,
        config: ControllerConfig,
        context: ControllerContext,
        zk_client: KafkaZkClient,
        new_batch: Callable[[], ControllerBrokerRequestBatch],
    ) -> None:
        self._config = config
        self._context = context
        self._zk = zk_client
        self._new_batch = new_batch
        self._recovery_supported = metadata_version.is_leader_recovery_supported(config.inter_broker_protocol_version)
        self.leader_elections = 0
        self.unclean_leader_elections = 0
        """Number of these leaders that were not in sync."""

    def startup(self) -> None:
        """Set the states from ZooKeeper's content; elect leaders for partitions without one.

        Brokers get all partitions of the affected topics: a broker that has just started would otherwise take a
        partial topic for a complete one with fewer partitions.
        """
        context = self._context
        for partition in context.all_partitions():
            leadership = context.leadership.get(partition)
            if leadership is None:
                state = PartitionState.NEW
            elif context.is_replica_online(leadership.leader_and_isr.leader, partition):
                state = PartitionState.ONLINE
            else:
                state = PartitionState.OFFLINE
            context.put_partition_state(partition, state)
        leaderless = self._leaderless()
        topics = {partition.topic for partition in leaderless}
        told = [partition for partition in context.leadership if partition.topic in topics]
        self.handle_state_changes(leaderless, PartitionState.ONLINE, told=told)

    def trigger_online_partition_state_change(self, topic: str | None = None) -> dict[TopicPartition, ElectionOutcome]:
        """Elect a leader for each partition (of `topic`) without one, unless its topic is being deleted."""
        leaderless = [partition for partition in self._leaderless() if topic in (None, partition.topic)]
        return self.handle_state_changes(leaderless, PartitionState.ONLINE, ElectionStrategy.OFFLINE_PARTITION)

    def _leaderless(self) -> list[TopicPartition]:
        found = self._context.partitions_in_state(PartitionState.OFFLINE, PartitionState.NEW)
        return [partition for partition in found if partition.topic not in self._context.topics_to_be_deleted]

    def handle_state_changes(
        self,
        partitions: Collection[TopicPartition],
        target: PartitionState,
        strategy: ElectionStrategy = ElectionStrategy.OFFLINE_PARTITION,
        told: Collection[TopicPartition] = (),
    ) -> dict[TopicPartition, ElectionOutcome]:
        """Change the partitions' state; invalid transitions are skipped and logged. Brokers are sent the changed
        partitions, and those in `told`.

        Returns, for ONLINE, the outcome for each partition that had a leader before. Raises `ControllerMovedError`.
        """
        if not partitions:
            return {}
        batch = self._new_batch()
        try:
            outcomes = self._change_states(partitions, target, strategy, batch)
        except ControllerMovedError:
            raise
        except Exception as error:
            log.exception("Moving %d partitions to %s failed", len(partitions), target.value)
            outcomes = dict.fromkeys(partitions, error)
        batch.add_update_metadata_request_for_brokers(
            self._context.live_or_shutting_down_broker_ids if told else (), told
        )
        batch.send_requests_to_brokers()
        return outcomes

    def _change_states(
        self,
        partitions: Iterable[TopicPartition],
        target: PartitionState,
        strategy: ElectionStrategy,
        batch: ControllerBrokerRequestBatch,
    ) -> dict[TopicPartition, ElectionOutcome]:
        context = self._context
        valid = [p for p in partitions if self._is_valid(p, target)]
        if target is not PartitionState.ONLINE:
            for partition in valid:
                context.put_partition_state(partition, target)
            return {}
        new = [p for p in valid if context.partition_state(p) is PartitionState.NEW]
        old = [p for p in valid if context.partition_state(p) is not PartitionState.NEW]
        self._initialize_leader_and_isr(new, batch)
        return self._elect_leaders(old, strategy, batch)

    def _is_valid(self, partition: TopicPartition, target: PartitionState) -> bool:
        if self._context.may_change_partition_state(partition, target):
            return True
        log.error(
            "Partition %s should be in one of the states %s before it moves to %s; it is in %s",
            partition,
            ", ".join(sorted(state.value for state in VALID_PREVIOUS_PARTITION_STATES[target])),
            target.value,
            self._context.partition_state(partition).value,
        )
        return False

    # --- New -> Online --------------------------------------------------------------------------------------------

    def _initialize_leader_and_isr(self, partitions: list[TopicPartition], batch: ControllerBrokerRequestBatch) -> None:
        """Set a partition's first state: the first live replica is the leader, all live replicas are the ISR."""
        context = self._context
        states: dict[TopicPartition, LeaderIsrAndControllerEpoch] = {}
        for partition in partitions:
            live = context.online_replicas(partition)
            if live:
                states[partition] = LeaderIsrAndControllerEpoch(LeaderAndIsr(live[0], live), context.epoch)
            else:
                log.error(
                    "Partition %s gets no leader: none of its replicas %s is on a live broker (%s)",
                    partition,
                    list(context.replica_assignment(partition).replicas),
                    sorted(context.live_broker_ids),
                )
        if not states:
            return
        results = self._zk.create_topic_partition_states(states, context.epoch_zk_version)
        for partition, state in states.items():
            error = results[partition]
            if error is not None:
                log.error("The state of new partition %s could not be created in ZooKeeper: %s", partition, error)
                continue
            context.leadership[partition] = state
            batch.add_leader_and_isr_request_for_brokers(state.leader_and_isr.isr, partition, state, is_new=True)
            context.put_partition_state(partition, PartitionState.ONLINE)
            log.info(
                "Partition %s is new: leader %d, ISR %s",
                partition,
                state.leader_and_isr.leader,
                list(state.leader_and_isr.isr),
            )

    # --- Online, Offline -> Online ---------------------------------------------------------------------------------

    def _elect_leaders(
        self, partitions: list[TopicPartition], strategy: ElectionStrategy, batch: ControllerBrokerRequestBatch
    ) -> dict[TopicPartition, ElectionOutcome]:
        outcomes: dict[TopicPartition, ElectionOutcome] = {}
        current, remaining = self._known_states(partitions), partitions
        while remaining:
            finished, remaining = self._try_to_elect_leaders(current, strategy, batch)
            outcomes.update(finished)
            current = self._states_in_zookeeper(remaining, outcomes)
        for partition, outcome in outcomes.items():
            if isinstance(outcome, Exception):
                self._log_failure(partition, outcome, strategy)
            else:
                self._context.put_partition_state(partition, PartitionState.ONLINE)
        return outcomes

    def _try_to_elect_leaders(
        self,
        current: dict[TopicPartition, LeaderAndIsr],
        strategy: ElectionStrategy,
        batch: ControllerBrokerRequestBatch,
    ) -> tuple[dict[TopicPartition, ElectionOutcome], list[TopicPartition]]:
        """Return the final outcomes, and the partitions whose state in ZooKeeper differs from the one in `current`."""
        context = self._context
        outcomes: dict[TopicPartition, ElectionOutcome] = {}
        elected: dict[TopicPartition, LeaderAndIsr] = {}
        recipients: dict[TopicPartition, tuple[int, ...]] = {}
        for partition, result in self._elections(current, strategy).items():
            if result.leader_and_isr is None:
                sentence = f"Failed to elect leader for partition {partition} under strategy {strategy.value}"
                outcomes[partition] = StateChangeFailedError(sentence)
            else:
                elected[partition] = result.leader_and_isr
                recipients[partition] = result.recipients
        if not elected:
            return outcomes, []
        written = self._zk.update_leader_and_isr(elected, context.epoch, context.epoch_zk_version)
        for partition, update in written.finished_partitions.items():
            outcomes[partition] = update
            if isinstance(update, LeaderAndIsr):
                state = LeaderIsrAndControllerEpoch(update, context.epoch)
                context.leadership[partition] = state
                batch.add_leader_and_isr_request_for_brokers(recipients[partition], partition, state, is_new=False)
                self._log_election(partition, current[partition], update, strategy)
        return outcomes, written.partitions_to_retry

    def _known_states(self, partitions: list[TopicPartition]) -> dict[TopicPartition, LeaderAndIsr]:
        """Return the cached states; sufficient at first, because a write that is based on an old version fails."""
        return {partition: self._context.leadership[partition].leader_and_isr for partition in partitions}

    def _states_in_zookeeper(
        self, partitions: list[TopicPartition], outcomes: dict[TopicPartition, ElectionOutcome]
    ) -> dict[TopicPartition, LeaderAndIsr]:
        """Return the states in ZooKeeper; add errors of partitions without a state that may be changed to `outcomes`."""
        if not partitions:
            return {}
        states = self._zk.get_topic_partition_states(partitions)
        usable: dict[TopicPartition, LeaderAndIsr] = {}
        for partition in partitions:
            state = states.get(partition)
            if state is None:
                outcomes[partition] = StateChangeFailedError(f"There is no state of partition {partition} in ZooKeeper")
            elif state.controller_epoch > self._context.epoch:
                outcomes[partition] = StateChangeFailedError(
                    f"The state of {partition} was written by another controller, of epoch {state.controller_epoch}"
                )
            else:
                usable[partition] = state.leader_and_isr
        return usable

    def _elections(
        self, states: dict[TopicPartition, LeaderAndIsr], strategy: ElectionStrategy
    ) -> dict[TopicPartition, ElectionResult]:
        context = self._context
        unclean: Collection[str] = ()
        if strategy is ElectionStrategy.OFFLINE_PARTITION:
            unclean = self._topics_with_unclean_election(states)
        results: dict[TopicPartition, ElectionResult] = {}
        for partition, state in states.items():
            assignment = context.replica_assignment(partition)
            replicas, target = assignment.replicas, assignment.target_replicas
            live = context.online_replicas(partition, strategy is ElectionStrategy.CONTROLLED_SHUTDOWN)
            if strategy is ElectionStrategy.REASSIGNMENT:
                result = leader_for_reassignment(target, state, live)
            elif strategy is ElectionStrategy.PREFERRED_REPLICA:
                result = leader_for_preferred_replica(replicas, state, live)
            elif strategy is ElectionStrategy.CONTROLLED_SHUTDOWN:
                result = leader_for_controlled_shutdown(replicas, state, live, context.shutting_down_broker_ids)
            else:
                allowed = strategy is ElectionStrategy.UNCLEAN or partition.topic in unclean
                result = leader_for_offline(replicas, state, live, allowed, self._recovery_supported)
            results[partition] = result
        return results

    def _topics_with_unclean_election(self, states: dict[TopicPartition, LeaderAndIsr]) -> set[str]:
        """Return the topics that have a partition without live in-sync replicas, and allow unclean elections."""
        context = self._context
        topics = {
            partition.topic
            for partition, state in states.items()
            if not any(context.is_replica_online(replica, partition) for replica in state.isr)
        }
        if not topics:
            return set()
        default = "true" if self._config.unclean_leader_election_enable else "false"
        configs = self._zk.get_entities_configs("topics", topics)
        return {topic for topic in topics if configs[topic].get(UNCLEAN_CONFIG, default).strip().lower() == "true"}

    def _log_failure(self, partition: TopicPartition, error: Exception, strategy: ElectionStrategy) -> None:
        state = self._context.leadership.get(partition)
        log.error(
            "Partition %s gets no other leader, though %s: replicas %s, ISR %s, live brokers %s: %s",
            partition,
            strategy.cause,
            list(self._context.replica_assignment(partition).replicas),
            [] if state is None else list(state.leader_and_isr.isr),
            sorted(self._context.live_broker_ids),
            error,
        )

    def _log_election(
        self, partition: TopicPartition, old: LeaderAndIsr, new: LeaderAndIsr, strategy: ElectionStrategy
    ) -> None:
        self.leader_elections += 1
        unclean = new.leader not in old.isr and new.leader_recovery_state is LeaderRecoveryState.RECOVERING
        if unclean:
            self.unclean_leader_elections += 1
        log.log(
            logging.WARNING if unclean else logging.INFO,
            "Partition %s: %s, because %s%s",
            partition,
            describe_change(old, new),
            strategy.cause,
            "; UNCLEAN: records that only the old ISR had are lost" if unclean else "",
        )
