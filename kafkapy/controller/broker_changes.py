"""Processes brokers that start, fail, restart, change, shut down or lose a log directory."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping

from kafkapy.common.broker import Broker
from kafkapy.common.leader_and_isr import LeaderAndIsr
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.controller.core import ControllerCore
from kafkapy.controller.election import ElectionStrategy
from kafkapy.controller.features import FeatureVersioning
from kafkapy.controller.reassignment import PartitionReassignments
from kafkapy.controller.states import PartitionAndReplica, PartitionState, ReplicaState
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.leader_and_isr import LeaderAndIsrResponse
from kafkapy.zk.handlers import ZNodeChangeHandler, ZNodeChildChangeHandler
from kafkapy.zk.zk_data import BrokerIdZNode, BrokersZNode, LogDirEventNotificationZNode

log = logging.getLogger("kafkapy.controller")

UNKNOWN_BROKER_EPOCH = -1


class BrokerChanges:
    """Maintains the live brokers in the context; elects new leaders for the partitions of failed brokers."""

    def __init__(
        self, core: ControllerCore, reassignments: PartitionReassignments, features: FeatureVersioning
    ) -> None:
        self._core = core
        self._reassignments = reassignments
        self._features = features
        self._modification_handlers: dict[int, ZNodeChangeHandler] = {}
        self.child_handlers = (
            ZNodeChildChangeHandler(
                BrokersZNode.ids_path, lambda: core.put("BrokerChange", self.process_broker_change)
            ),
            ZNodeChildChangeHandler(
                LogDirEventNotificationZNode.path,
                lambda: core.put("LogDirEventNotification", self.process_log_dir_event_notification),
            ),
        )

    def initialize(self) -> None:
        """Load the registered brokers."""
        context = self._core.context
        context.add_live_brokers(self._compatible(self._core.zk_client.get_all_broker_and_epochs_in_cluster()))
        self._register_modification_handlers(context.live_or_shutting_down_broker_ids)
        log.info("Live brokers and their epochs: %s", context.live_broker_epochs)

    def resign(self) -> None:
        self._unregister_modification_handlers(list(self._modification_handlers))

    # --- broker up, down, bounced -----------------------------------------------------------------------------------

    def process_broker_change(self) -> None:
        core, context = self._core, self._core.context
        brokers = core.zk_client.get_all_broker_and_epochs_in_cluster()
        epochs = {broker.id: epoch for broker, epoch in brokers.items()}
        known = context.live_broker_epochs
        new = sorted(epochs.keys() - known.keys())
        dead = sorted(known.keys() - epochs.keys())
        bounced = sorted(b for b in epochs.keys() & known.keys() if epochs[b] > known[b])
        if not (new or dead or bounced):
            return
        log.info("New brokers: %s, dead: %s, restarted: %s, live now: %s", new, dead, bounced, sorted(epochs))
        # A restarted broker counts as another broker: it must not get requests queued for the old one.
        for broker_id in (*bounced, *dead):
            core.channel_manager.remove_broker(broker_id)
        for broker in sorted(brokers, key=lambda broker: broker.id):
            if broker.id in new or broker.id in bounced:
                core.channel_manager.add_broker(broker)
        if new:
            context.add_live_brokers(self._compatible({b: e for b, e in brokers.items() if b.id in new}))
            self._on_broker_startup(new)
        if bounced:
            context.remove_live_brokers(bounced)
            self._on_broker_failure(bounced)
            context.add_live_brokers(self._compatible({b: e for b, e in brokers.items() if b.id in bounced}))
            self._on_broker_startup(bounced)
        if dead:
            context.remove_live_brokers(dead)
            self._on_broker_failure(dead)
        log.info("Live brokers and their epochs: %s", context.live_broker_epochs)

    def _compatible(self, brokers: Mapping[Broker, int]) -> dict[Broker, int]:
        """Return the brokers that support all finalized features; the others are not admitted (KIP-584)."""
        compatible = {b: epoch for b, epoch in brokers.items() if self._features.is_compatible(b)}
        if len(compatible) < len(brokers):
            refused = sorted(b.id for b in brokers if b not in compatible)
            log.warning("Brokers %s are ignored: they do not support the finalized features", refused)
        return compatible

    def _on_broker_startup(self, broker_ids: list[int]) -> None:
        core, context = self._core, self._core.context
        new = set(broker_ids)
        for broker_id in new:
            context.replicas_on_offline_dirs.pop(broker_id, None)
        # Known brokers get the live brokers; new ones get all metadata.
        core.send_update_metadata([b for b in context.live_or_shutting_down_broker_ids if b not in new])
        core.send_update_metadata(broker_ids, context.partitions_with_leaders())
        replicas = context.replicas_on_brokers(new)
        core.replica_state_machine.handle_state_changes(replicas, ReplicaState.ONLINE)
        core.partition_state_machine.trigger_online_partition_state_change()
        self._reassignments.maybe_resume(lambda _, assignment: not new.isdisjoint(assignment.target_replicas))
        waiting = {replica.topic for replica in replicas} & context.topics_to_be_deleted
        if waiting:
            log.info("Deletion of topics %s goes on: brokers %s are back", sorted(waiting), broker_ids)
            core.topic_deletion.resume_deletion_for_topics(waiting)
        self._register_modification_handlers(broker_ids)

    def _on_broker_failure(self, broker_ids: list[int]) -> None:
        context = self._core.context
        for broker_id in broker_ids:
            context.replicas_on_offline_dirs.pop(broker_id, None)
            if context.end_broker_shutdown(broker_id):
                log.info("Broker %d has shut down", broker_id)
        self.on_replicas_become_offline(context.replicas_on_brokers(set(broker_ids)))
        self._unregister_modification_handlers(broker_ids)

    def on_replicas_become_offline(self, replicas: Collection[PartitionAndReplica]) -> None:
        """Elect other leaders, remove the replicas from the ISRs, pause deletions that need them."""
        core, context = self._core, self._core.context
        for_deletion = [r for r in replicas if r.topic in context.topics_to_be_deleted]
        others = [r for r in replicas if r.topic not in context.topics_to_be_deleted]
        core.partition_state_machine.handle_state_changes(
            context.partitions_with_offline_leader(), PartitionState.OFFLINE
        )
        outcomes = core.partition_state_machine.trigger_online_partition_state_change()
        core.replica_state_machine.handle_state_changes(others, ReplicaState.OFFLINE)
        core.topic_deletion.fail_replica_deletion(for_deletion)
        if not others and not any(isinstance(outcome, LeaderAndIsr) for outcome in outcomes.values()):
            # No other request informs the brokers of the failed one.
            core.send_update_metadata_to_all()

    # --- broker modified --------------------------------------------------------------------------------------------

    def process_broker_modification(self, broker_id: int) -> None:
        old = self._core.context.live_or_shutting_down_broker(broker_id)
        new = self._core.zk_client.get_broker(broker_id)
        if old is None or new is None or (old.end_points, old.features) == (new.end_points, new.features):
            return
        log.info("Broker %d has changed: %s -> %s", broker_id, old, new)
        self._core.context.update_broker_metadata(new)
        self._core.send_update_metadata_to_all()

    def _register_modification_handlers(self, broker_ids: Iterable[int]) -> None:
        for broker_id in broker_ids:
            handler = ZNodeChangeHandler(
                BrokerIdZNode.path(broker_id), handle_data_change=self._modification_event(broker_id)
            )
            self._core.zk_client.register_znode_change_handler_and_check_existence(handler)
            self._modification_handlers[broker_id] = handler

    def _modification_event(self, broker_id: int) -> Callable[[], None]:
        return lambda: self._core.put("BrokerModifications", lambda: self.process_broker_modification(broker_id))

    def _unregister_modification_handlers(self, broker_ids: Iterable[int]) -> None:
        for broker_id in broker_ids:
            handler = self._modification_handlers.pop(broker_id, None)
            if handler is not None:
                self._core.zk_client.unregister_znode_change_handler(handler.path)

    # --- log directories --------------------------------------------------------------------------------------------

    def process_log_dir_event_notification(self) -> None:
        """Send LeaderAndIsr to a broker that has lost a directory: its response names the offline replicas
        (KAFKA_STORAGE_ERROR)."""
        core, context = self._core, self._core.context
        notifications = core.zk_client.get_all_log_dir_event_notifications()
        try:
            broker_ids = set(core.zk_client.get_broker_ids_from_log_dir_events(notifications))
            if broker_ids:
                log.info("Brokers %s have lost a log directory: asking which replicas are gone", sorted(broker_ids))
                replicas = context.replicas_on_brokers(broker_ids)
                core.replica_state_machine.handle_state_changes(replicas, ReplicaState.ONLINE)
        finally:
            core.zk_client.delete_log_dir_event_notifications(context.epoch_zk_version, notifications)

    def process_leader_and_isr_response(self, response: LeaderAndIsrResponse, broker_id: int) -> None:
        """Record which replicas are offline at the broker, and which are online again."""
        context = self._core.context
        if response.error_code != Errors.NONE.code:
            log.error(
                "Broker %d refused a LeaderAndIsr request: %s", broker_id, Errors.for_code(response.error_code).name
            )
            return
        offline: set[TopicPartition] = set()
        online: set[TopicPartition] = set()
        answers = [(p.topic_name, p) for p in response.partition_errors]  # as before version 5
        for topic in response.topics:
            topic_name = context.topic_names.get(topic.topic_id)
            if topic_name is not None:
                answers += [(topic_name, partition) for partition in topic.partition_errors]
        for name, partition in answers:
            if partition.error_code == Errors.KAFKA_STORAGE_ERROR.code:
                offline.add(TopicPartition(name, partition.partition_index))
            elif partition.error_code == Errors.NONE.code:
                online.add(TopicPartition(name, partition.partition_index))
        previous = context.replicas_on_offline_dirs.get(broker_id, set())
        current = (previous - online) | offline
        context.replicas_on_offline_dirs[broker_id] = current
        new_offline = sorted(current - previous)
        if new_offline:
            log.warning(
                "Replicas of %s on broker %d are offline, their log directory failed",
                [*map(str, new_offline)],
                broker_id,
            )
            self.on_replicas_become_offline([PartitionAndReplica(partition, broker_id) for partition in new_offline])

    # --- controlled shutdown ----------------------------------------------------------------------------------------

    def controlled_shutdown(self, broker_id: int, broker_epoch: int) -> set[TopicPartition]:
        """Move the broker's leaders away and remove it from the ISRs; return the partitions it still leads.

        Raises `KafkaError`: STALE_BROKER_EPOCH, BROKER_NOT_AVAILABLE.
        """
        core, context = self._core, self._core.context
        known_epoch = context.live_broker_epochs.get(broker_id)
        if known_epoch is None:
            raise KafkaError(Errors.BROKER_NOT_AVAILABLE, f"Broker id {broker_id} does not exist.")
        if broker_epoch != UNKNOWN_BROKER_EPOCH and broker_epoch < known_epoch:
            log.info("Controlled shutdown of broker %d refused: epoch %d, now %d", broker_id, broker_epoch, known_epoch)
            raise KafkaError(
                Errors.STALE_BROKER_EPOCH,
                f"Received controlled shutdown request from an old broker epoch {broker_epoch} for broker {broker_id}. "
                f"Current broker epoch is {known_epoch}.",
            )
        log.info("Broker %d is shutting down: moving its leaders", broker_id)
        context.begin_broker_shutdown(broker_id)
        led: list[TopicPartition] = []
        followed: list[PartitionAndReplica] = []
        for replica in context.replicas_on_brokers({broker_id}):
            partition = replica.topic_partition
            state = context.leadership.get(partition)
            if (
                state is None
                or partition.topic in context.topics_to_be_deleted
                or len(context.replica_assignment(partition).replicas) == 1
            ):
                continue
            if state.leader_and_isr.leader == broker_id:
                led.append(partition)
            else:
                followed.append(replica)
        core.partition_state_machine.handle_state_changes(
            led, PartitionState.ONLINE, ElectionStrategy.CONTROLLED_SHUTDOWN
        )
        batch = core.new_batch()
        for replica in followed:
            batch.add_stop_replica_request(replica, delete=False)
        batch.send_requests_to_brokers()
        core.replica_state_machine.handle_state_changes(followed, ReplicaState.OFFLINE)
        return context.partition_leaders_on_broker(broker_id)
