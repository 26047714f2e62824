"""Election and resignation of the controller (that half of Kafka's `KafkaController`)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from kafkapy.controller.broker_changes import BrokerChanges
from kafkapy.controller.core import NO_CONTROLLER, ControllerCore
from kafkapy.controller.event_manager import ControllerEvent
from kafkapy.controller.features import FeatureVersioning
from kafkapy.controller.isr_changes import IsrChanges
from kafkapy.controller.leader_elections import LeaderElections
from kafkapy.controller.reassignment import PartitionReassignments
from kafkapy.controller.topic_changes import TopicChanges
from kafkapy.zk.errors import ControllerMovedError
from kafkapy.zk.handlers import StateChangeHandler, ZNodeChangeHandler, ZNodeChildChangeHandler
from kafkapy.zk.zk_data import BrokerInfo, ControllerZNode

log = logging.getLogger("kafkapy.controller")

STATE_CHANGE_HANDLER = "controller-state-change-handler"


@dataclass(eq=False)
class ControllerParts:
    """The parts of the active controller; each processes one kind of event."""

    features: FeatureVersioning
    reassignments: PartitionReassignments
    brokers: BrokerChanges
    topics: TopicChanges
    elections: LeaderElections
    isr: IsrChanges

    @property
    def child_handlers(self) -> list[ZNodeChildChangeHandler]:
        return [*self.brokers.child_handlers, *self.topics.child_handlers, self.isr.child_handler]

    @property
    def node_handlers(self) -> list[ZNodeChangeHandler]:
        return [self.elections.handler, self.reassignments.handler]


class ControllerElection:
    """Every broker watches /controller; the one that creates it, and increments /controller_epoch in the same
    transaction, is the controller.

    Invariant: while active, this broker has created /controller, and the context has been loaded after that. Another
    controller increments /controller_epoch, so that this broker's next write fails (`ControllerMovedError`) and it
    resigns.
    """

    def __init__(
        self,
        core: ControllerCore,
        parts: ControllerParts,
        broker_info: BrokerInfo,
        broker_epoch: int,
        on_broker_registered: Callable[[int], object],
        on_elected: Callable[[], object],
    ) -> None:
        self._core = core
        self._parts = parts
        self._zk = core.zk_client
        self._on_broker_registered = on_broker_registered
        self._on_elected = on_elected
        self.broker_info = broker_info
        self.broker_epoch = broker_epoch
        self._last_seen = NO_CONTROLLER
        """The last known controller."""
        self._controller_change_handler = ZNodeChangeHandler(
            ControllerZNode.path,
            handle_creation=lambda: self._put("ControllerChange", self.maybe_resign),
            handle_deletion=lambda: self._put("Reelect", self._reelect),
            handle_data_change=lambda: self._put("ControllerChange", self.maybe_resign),
        )

    def _put(self, name: str, process: Callable[[], object]) -> None:
        self._core.events.put(ControllerEvent(name, process))

    def begin(self) -> None:
        """Start taking part in elections."""
        self._zk.register_state_change_handler(
            StateChangeHandler(
                STATE_CHANGE_HANDLER,
                before_initializing_session=self._expire,
                after_initializing_session=lambda: self._put(
                    "RegisterBrokerAndReelect", self._register_broker_and_reelect
                ),
            )
        )
        self._put("Startup", self._start)

    def end(self) -> None:
        """Stop taking part in elections; called after the last event."""
        self._zk.unregister_state_change_handler(STATE_CHANGE_HANDLER)
        self._resign()

    # --- events ---------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        self._zk.register_znode_change_handler_and_check_existence(self._controller_change_handler)
        self._elect()

    def _reelect(self) -> None:
        self.maybe_resign()
        self._elect()

    def _register_broker_and_reelect(self) -> None:
        self.broker_epoch = self._zk.register_broker(self.broker_info)
        log.info(
            "Broker %d is registered in a new ZooKeeper session, epoch %d",
            self._core.config.broker_id,
            self.broker_epoch,
        )
        self._on_broker_registered(self.broker_epoch)
        self._reelect()

    def _elect(self) -> None:
        """Try to become the controller, unless there is one already."""
        core, broker_id = self._core, self._core.config.broker_id
        self._look_who_is_controller()
        if core.active_controller_id != NO_CONTROLLER:
            return
        try:
            epoch, epoch_zk_version = self._zk.register_controller_and_increment_controller_epoch(broker_id)
            self._core.context.epoch = epoch
            self._core.context.epoch_zk_version = epoch_zk_version
            core.active_controller_id = broker_id
            log.info(
                "Broker %d is the controller now, of epoch %d, because %s: it takes over the cluster's state from ZooKeeper",
                broker_id, epoch, self._election_reason(),
            )  # fmt: skip
            self._last_seen = broker_id
            self._on_controller_failover()
        except ControllerMovedError as error:
            log.debug("Broker %d is not the controller: %s", broker_id, error)
            self.maybe_resign()
        except Exception:
            log.exception("Broker %d could not become controller: another one is to try", broker_id)
            self._trigger_controller_move()

    def _on_controller_failover(self) -> None:
        """Load the cluster's state from ZooKeeper, send it to the brokers, and resume the last controller's operations."""
        core, parts, context = self._core, self._parts, self._core.context
        started = core.events.now_ms()
        parts.features.initialize()
        # Watches are set before the reads, so that no change is missed.
        for handler in parts.child_handlers:
            self._zk.register_znode_child_change_handler(handler)
        for node_handler in parts.node_handlers:
            self._zk.register_znode_change_handler_and_check_existence(node_handler)
        self._zk.delete_log_dir_event_notifications(context.epoch_zk_version)
        self._zk.delete_isr_change_notifications(context.epoch_zk_version)
        parts.brokers.initialize()
        parts.topics.initialize()
        core.channel_manager.startup(context.live_or_shutting_down_brokers)
        core.topic_deletion.init(*parts.topics.deletions_in_progress())
        # Brokers need each other's addresses before they get leaders to follow.
        core.send_update_metadata_to_all()
        # Elect leaders first: clients wait for them, but not for the unchanged roles that all replicas are sent.
        core.partition_state_machine.startup()
        core.replica_state_machine.startup()
        log.info(
            "Broker %d is ready as controller, epoch %d: %d brokers, %d topics, %d partitions, %d ms",
            core.config.broker_id,
            context.epoch,
            len(context.live_broker_epochs),
            len(context.all_topics),
            len(context.partition_states),
            core.events.now_ms() - started,
        )
        parts.reassignments.initialize()
        core.topic_deletion.try_topic_deletion()
        parts.elections.initialize()
        if core.config.auto_leader_rebalance_enable:
            parts.elections.schedule_balance()
        self._on_elected()

    def _look_who_is_controller(self) -> None:
        self._core.active_controller_id = found = self._controller_in_zookeeper()
        if found not in (NO_CONTROLLER, self._last_seen):
            log.info(
                "Broker %d is the controller now%s", found,
                "" if self._last_seen == NO_CONTROLLER else f", after broker {self._last_seen}, whose session or node is gone",
            )  # fmt: skip
            self._last_seen = found

    def _election_reason(self) -> str:
        if self._last_seen == NO_CONTROLLER:
            return "there was none"
        return f"the node /controller of broker {self._last_seen} was gone"

    def _controller_in_zookeeper(self) -> int:
        controller_id = self._zk.get_controller_id()
        return NO_CONTROLLER if controller_id is None else controller_id

    def maybe_resign(self) -> None:
        """Read the current controller; resign if this broker is no longer it."""
        was_active = self._core.is_active
        self._zk.register_znode_change_handler_and_check_existence(self._controller_change_handler)
        self._look_who_is_controller()
        if was_active and not self._core.is_active:
            self._resign()

    def _trigger_controller_move(self) -> None:
        """Delete /controller, so that there is another election."""
        core = self._core
        core.active_controller_id = self._controller_in_zookeeper()
        if not self._core.is_active:
            log.warning("Another broker is controller already")
            return
        epoch_zk_version = self._core.context.epoch_zk_version
        core.active_controller_id = NO_CONTROLLER
        self._resign()
        try:
            self._zk.delete_controller(epoch_zk_version)
        except ControllerMovedError:
            log.warning("Another broker is controller already")

    def _expire(self) -> None:
        """Resign before a new session starts; called on the ZooKeeper client's thread after the session has expired."""

        def resign() -> None:
            self._core.active_controller_id = NO_CONTROLLER
            self._resign()

        self._core.events.clear_and_put(ControllerEvent("Expire", resign)).finished.wait()

    def _resign(self) -> None:
        """Clear the context and close the connections to brokers. Watch handlers are removed without a call to ZooKeeper."""
        core, parts = self._core, self._parts
        epoch = core.context.epoch
        for handler in parts.child_handlers:
            self._zk.unregister_znode_child_change_handler(handler.path)
        for node_handler in parts.node_handlers:
            self._zk.unregister_znode_change_handler(node_handler.path)
        parts.brokers.resign()
        parts.topics.resign()
        core.events.cancel_later()
        core.channel_manager.shutdown()
        self._core.context.reset()
        if epoch:
            log.info("Broker %d has resigned as controller of epoch %d", core.config.broker_id, epoch)
