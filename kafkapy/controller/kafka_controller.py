"""The broker's controller: always a candidate, at times the cluster's active controller (Kafka's `KafkaController`).

Everything happens on the controller thread, as an event. What is decided goes to ZooKeeper first, guarded by the
controller epoch, then into the context, then to the brokers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

from kafkapy.common.replica_assignment import ReplicaAssignment
from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.controller.broker_changes import BrokerChanges
from kafkapy.controller.channel_manager import ControllerChannelManager
from kafkapy.controller.controller_config import ControllerConfig
from kafkapy.controller.controller_context import ControllerContext
from kafkapy.controller.core import NO_CONTROLLER, ControllerCore
from kafkapy.controller.event_manager import ControllerEvent, ControllerEventManager
from kafkapy.controller.features import FeatureVersioning
from kafkapy.controller.isr_changes import IsrChanges
from kafkapy.controller.leader_elections import ElectionType, LeaderElections
from kafkapy.controller.partition_state_machine import PartitionStateMachine
from kafkapy.controller.producer_ids import new_producer_ids_block
from kafkapy.controller.reassignment import PartitionReassignments
from kafkapy.controller.replica_state_machine import ReplicaStateMachine
from kafkapy.controller.request_batch import ControllerBrokerRequestBatch
from kafkapy.controller.topic_changes import TopicChanges
from kafkapy.controller.topic_deletion_manager import TopicDeletionManager
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from kafkapy.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from kafkapy.protocol.messages.leader_and_isr import LeaderAndIsrResponse
from kafkapy.protocol.messages.stop_replica import StopReplicaResponse
from kafkapy.protocol.messages.update_features import UpdateFeaturesRequest
from kafkapy.protocol.messages.update_metadata import UpdateMetadataResponse
from kafkapy.zk.errors import ControllerMovedError
from kafkapy.zk.handlers import StateChangeHandler, ZNodeChangeHandler
from kafkapy.zk.kafka_zk_client import KafkaZkClient
from kafkapy.zk.zk_data import BrokerInfo, ControllerZNode

log = logging.getLogger("kafkapy.controller")

T = TypeVar("T")

STATE_CHANGE_HANDLER = "controller-state-change-handler"


class KafkaController:
    """Public methods may be called from any thread; they enqueue an event. Callbacks come on the controller thread.

    Invariant: while `is_active`, this broker made the node /controller and the context holds what it read after that;
    whoever else becomes controller raises /controller_epoch, so that our next write fails (`ControllerMovedError`) and
    we resign.
    """

    def __init__(
        self,
        config: ControllerConfig,
        zk_client: KafkaZkClient,
        broker_info: BrokerInfo,
        broker_epoch: int,
        time: Time,
        channel_manager: ControllerChannelManager | None = None,
        on_broker_registered: Callable[[int], object] = lambda _: None,
    ) -> None:
        """`on_broker_registered(broker_epoch)`: called (controller thread) when a new session registered the broker."""
        self._zk = zk_client
        self._broker_info = broker_info
        self._on_broker_registered = on_broker_registered
        self.broker_epoch = broker_epoch
        """Of this broker's registration; grows when the session is renewed."""
        self.context = ControllerContext()
        self.events = ControllerEventManager(self._process, time)
        channel = channel_manager or ControllerChannelManager(config)
        self._core = core = self._new_core(config, channel)
        self._features = FeatureVersioning(zk_client)
        self._reassignments = PartitionReassignments(core)
        self._brokers = BrokerChanges(core, self._reassignments, self._features)
        self._topics = TopicChanges(core)
        self._elections = LeaderElections(core)
        self._isr = IsrChanges(core, self._reassignments)
        self._child_handlers = (
            *self._brokers.child_handlers,
            *self._topics.child_handlers,
            self._isr.child_handler,
        )
        self._controller_change_handler = ZNodeChangeHandler(
            ControllerZNode.path,
            handle_creation=lambda: self._put("ControllerChange", self._maybe_resign),
            handle_deletion=lambda: self._put("Reelect", self._reelect),
            handle_data_change=lambda: self._put("ControllerChange", self._maybe_resign),
        )

    def _new_core(self, config: ControllerConfig, channel: ControllerChannelManager) -> ControllerCore:
        context, zk = self.context, self._zk

        def new_batch() -> ControllerBrokerRequestBatch:
            return ControllerBrokerRequestBatch(config, context, channel.send_request, self)

        partitions = PartitionStateMachine(config, context, zk, new_batch)
        replicas = ReplicaStateMachine(context, zk, new_batch)
        deletion = TopicDeletionManager(
            config,
            context,
            zk,
            replicas,
            partitions,
            lambda partitions: self._core.send_update_metadata_to_all(partitions),
            lambda topic: self._topics.unregister_partition_modifications_handler(topic),
        )
        return ControllerCore(config, context, zk, self.events, channel, new_batch, partitions, replicas, deletion)

    # --- life -----------------------------------------------------------------------------------------------------

    @property
    def is_active(self) -> bool:
        """Is this broker the controller?"""
        return self._core.is_active

    @property
    def controller_id(self) -> int:
        """The active controller as last seen; -1 if there is none."""
        return self._core.active_controller_id

    @property
    def epoch(self) -> int:
        """The controller epoch while active, else 0."""
        return self.context.epoch

    def startup(self) -> None:
        """Become a candidate; returns at once."""
        self.enqueue_startup()
        self.events.start()

    def enqueue_startup(self) -> None:
        """`startup` without the thread: a test drives the events itself."""
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

    def shutdown(self) -> None:
        """Stop for good. The node /controller goes with the session, which the server ends."""
        self._zk.unregister_state_change_handler(STATE_CHANGE_HANDLER)
        self.events.close()
        self._resign()

    def update_broker_info(self, broker_info: BrokerInfo) -> None:
        """Register changed listeners (blocks on ZooKeeper, so not from the reactor)."""
        self._broker_info = broker_info
        self._zk.update_broker_info(broker_info)

    # --- what the APIs ask ----------------------------------------------------------------------------------------

    def alter_partition(
        self, request: AlterPartitionRequest, version: int, callback: Callable[[AlterPartitionResponse], object]
    ) -> None:
        def not_controller() -> None:
            callback(AlterPartitionResponse(error_code=Errors.NOT_CONTROLLER.code))

        def process() -> None:
            altered: list[TopicPartition] = []
            try:
                response, altered = self._isr.alter_partition(request, version)
            except ControllerMovedError:
                not_controller()
                raise
            except Exception:
                log.exception("AlterPartition of broker %d failed: %s", request.broker_id, request)
                response = AlterPartitionResponse(error_code=Errors.UNKNOWN_SERVER_ERROR.code)
            callback(response)
            self._isr.complete_reassignments(altered)

        self._put_request("AlterPartition", process, not_controller)

    def controlled_shutdown(
        self, broker_id: int, broker_epoch: int, callback: Callable[[set[TopicPartition] | KafkaError], object]
    ) -> None:
        """Move a broker's leaders away; the answer is the partitions it still leads, or an error."""
        self._ask(
            "ControlledShutdown",
            lambda: self._brokers.controlled_shutdown(broker_id, broker_epoch),
            callback,
            not_controller=Errors.STALE_CONTROLLER_EPOCH,
        )

    def elect_leaders(
        self,
        partitions: Collection[TopicPartition],
        election_type: ElectionType,
        callback: Callable[[dict[TopicPartition, KafkaError | int] | KafkaError], object],
    ) -> None:
        """The answer has each partition's new leader, or why it has none."""
        self._ask("ElectLeaders", lambda: self._elections.elect_leaders(partitions, election_type), callback)

    def alter_partition_reassignments(
        self,
        reassignments: Mapping[TopicPartition, Sequence[int] | None],
        callback: Callable[[dict[TopicPartition, KafkaError | None] | KafkaError], object],
    ) -> None:
        """Start reassignments, or cancel those whose target is None; the answer says what is wrong with each."""
        self._ask("ApiPartitionReassignment", lambda: self._reassignments.alter(reassignments), callback)

    def list_partition_reassignments(
        self,
        partitions: Collection[TopicPartition] | None,
        callback: Callable[[dict[TopicPartition, ReplicaAssignment] | KafkaError], object],
    ) -> None:
        """The reassignments under way, of these partitions or (None) of all."""
        self._ask("ListPartitionReassignments", lambda: self._reassignments.reassigning(partitions), callback)

    def allocate_producer_ids(
        self, request: AllocateProducerIdsRequest, callback: Callable[[AllocateProducerIdsResponse], object]
    ) -> None:
        def answer(result: AllocateProducerIdsResponse | KafkaError) -> None:
            if isinstance(result, KafkaError):
                result = AllocateProducerIdsResponse(error_code=result.error.code)
            callback(result)

        self._ask("AllocateProducerIds", lambda: self._allocate_producer_ids(request), answer)

    def update_features(
        self,
        request: UpdateFeaturesRequest,
        version: int,
        callback: Callable[[dict[str, KafkaError] | KafkaError], object],
    ) -> None:
        """The answer has an error for each feature, `Errors.NONE` where the update was applied."""

        def process() -> dict[str, KafkaError]:
            return self._features.update(request, version, list(self.context.live_or_shutting_down_brokers))

        self._ask("UpdateFeatures", process, callback)

    # --- what the server tells ------------------------------------------------------------------------------------

    def enable_default_unclean_leader_election(self) -> None:
        """unclean.leader.election.enable has become true for all topics that do not say otherwise."""
        self._core.config.unclean_leader_election_enable = True
        self._core.put("UncleanLeaderElectionEnable", lambda: self._elections.process_unclean_election_enabled(None))

    def disable_default_unclean_leader_election(self) -> None:
        self._core.config.unclean_leader_election_enable = False

    def enable_topic_unclean_leader_election(self, topic: str) -> None:
        self._core.put(
            "TopicUncleanLeaderElectionEnable", lambda: self._elections.process_unclean_election_enabled(topic)
        )

    def is_topic_queued_for_deletion(self, topic: str) -> bool:
        return topic in self.context.topics_to_be_deleted

    # --- what brokers answer (ResponseHandler) ----------------------------------------------------------------------

    def leader_and_isr_response_received(self, response: LeaderAndIsrResponse, broker_id: int) -> None:
        self._core.put(
            "LeaderAndIsrResponseReceived", lambda: self._brokers.process_leader_and_isr_response(response, broker_id)
        )

    def update_metadata_response_received(self, response: UpdateMetadataResponse, broker_id: int) -> None:
        if response.error_code != Errors.NONE.code:
            error = Errors.for_code(response.error_code)
            log.error("Broker %d refused an UpdateMetadata request: %s", broker_id, error.name)

    def stop_replica_response_received(
        self, response: StopReplicaResponse, broker_id: int, to_delete: frozenset[TopicPartition]
    ) -> None:
        if to_delete:
            self._core.put(
                "TopicDeletionStopReplicaResponseReceived",
                lambda: self._topics.process_stop_replica_response(response, broker_id, to_delete),
            )
        elif response.error_code != Errors.NONE.code:
            error = Errors.for_code(response.error_code)
            log.error("Broker %d refused a StopReplica request: %s", broker_id, error.name)

    # --- events ---------------------------------------------------------------------------------------------------

    def _put(self, name: str, process: Callable[[], object]) -> None:
        self.events.put(ControllerEvent(name, process))

    def _put_request(self, name: str, process: Callable[[], object], not_controller: Callable[[], object]) -> None:
        """Queue an event that somebody waits for; `not_controller` answers if this broker is not the controller."""
        event = ControllerEvent(name, lambda: process() if self.is_active else not_controller(), preempt=not_controller)
        self.events.put(event)

    def _ask(
        self,
        name: str,
        process: Callable[[], T],
        callback: Callable[[T | KafkaError], object],
        not_controller: Errors = Errors.NOT_CONTROLLER,
    ) -> None:
        """`_put_request` for a `process` whose result, or `KafkaError`, is the answer."""

        def answer_not_controller() -> None:
            callback(KafkaError(not_controller))

        def ask() -> None:
            try:
                answer: T | KafkaError = process()
            except KafkaError as error:
                answer = error
            except ControllerMovedError:
                answer_not_controller()
                raise
            except Exception:
                log.exception("%s failed", name)
                answer = KafkaError(Errors.UNKNOWN_SERVER_ERROR)
            callback(answer)

        self._put_request(name, ask, answer_not_controller)

    def _process(self, event: ControllerEvent) -> None:
        try:
            try:
                event.process()
            except ControllerMovedError as error:
                log.info("Another broker became controller while %s was processed: %s", event.name, error)
                self._maybe_resign()
        except Exception:
            log.exception("Event %s failed", event.name)

    def _allocate_producer_ids(self, request: AllocateProducerIdsRequest) -> AllocateProducerIdsResponse:
        epoch = self.context.live_broker_epochs.get(request.broker_id)
        if epoch is None:
            raise KafkaError(Errors.BROKER_ID_NOT_REGISTERED)
        if epoch != request.broker_epoch:
            log.warning(
                "No producer ids for broker %d: its epoch is %d, now %d", request.broker_id, request.broker_epoch, epoch
            )
            raise KafkaError(Errors.STALE_BROKER_EPOCH)
        block = new_producer_ids_block(request.broker_id, self._zk)
        return AllocateProducerIdsResponse(producer_id_start=block.first_producer_id, producer_id_len=block.size)

    # --- election and resignation ---------------------------------------------------------------------------------

    def _start(self) -> None:
        self._zk.register_znode_change_handler_and_check_existence(self._controller_change_handler)
        self._elect()

    def _reelect(self) -> None:
        self._maybe_resign()
        self._elect()

    def _register_broker_and_reelect(self) -> None:
        self.broker_epoch = self._zk.register_broker(self._broker_info)
        log.info(
            "Broker %d is registered in a new ZooKeeper session, epoch %d",
            self._core.config.broker_id,
            self.broker_epoch,
        )
        self._on_broker_registered(self.broker_epoch)
        self._reelect()

    def _elect(self) -> None:
        """Try to become the controller, unless there is one."""
        core, broker_id = self._core, self._core.config.broker_id
        core.active_controller_id = self._controller_in_zookeeper()
        if core.active_controller_id != NO_CONTROLLER:
            log.info("Broker %d is the controller", core.active_controller_id)
            return
        try:
            epoch, epoch_zk_version = self._zk.register_controller_and_increment_controller_epoch(broker_id)
            self.context.epoch = epoch
            self.context.epoch_zk_version = epoch_zk_version
            core.active_controller_id = broker_id
            log.info("Broker %d is elected controller, epoch %d (zk version %d)", broker_id, epoch, epoch_zk_version)
            self._on_controller_failover()
        except ControllerMovedError as error:
            self._maybe_resign()
            log.info("Broker %d is not the controller: %s", broker_id, error)
        except Exception:
            log.exception("Broker %d could not become controller: another one is to try", broker_id)
            self._trigger_controller_move()

    def _on_controller_failover(self) -> None:
        """Learn the cluster from ZooKeeper, tell it to the brokers, and go on where the last controller stopped."""
        core, context = self._core, self.context
        started = core.events.now_ms()
        self._features.initialize()
        # Watch first, read then: nothing that changes in between is missed.
        for handler in self._child_handlers:
            self._zk.register_znode_child_change_handler(handler)
        for node_handler in (self._elections.handler, self._reassignments.handler):
            self._zk.register_znode_change_handler_and_check_existence(node_handler)
        self._zk.delete_log_dir_event_notifications(context.epoch_zk_version)
        self._zk.delete_isr_change_notifications(context.epoch_zk_version)
        self._brokers.initialize()
        self._topics.initialize()
        core.channel_manager.startup(context.live_or_shutting_down_brokers)
        core.topic_deletion.init(*self._topics.deletions_in_progress())
        # Brokers must know each other before they are told whom to follow.
        core.send_update_metadata_to_all()
        core.replica_state_machine.startup()
        core.partition_state_machine.startup()
        log.info(
            "Broker %d is ready as controller, epoch %d: %d brokers, %d topics, %d partitions, %d ms",
            core.config.broker_id,
            context.epoch,
            len(context.live_broker_epochs),
            len(context.all_topics),
            len(context.partition_states),
            core.events.now_ms() - started,
        )
        self._reassignments.initialize()
        core.topic_deletion.try_topic_deletion()
        self._elections.initialize()
        if core.config.auto_leader_rebalance_enable:
            self._elections.schedule_balance()

    def _controller_in_zookeeper(self) -> int:
        controller_id = self._zk.get_controller_id()
        return NO_CONTROLLER if controller_id is None else controller_id

    def _maybe_resign(self) -> None:
        """Look who is controller; if it was this broker and is no longer, resign."""
        was_active = self.is_active
        self._zk.register_znode_change_handler_and_check_existence(self._controller_change_handler)
        self._core.active_controller_id = self._controller_in_zookeeper()
        if was_active and not self.is_active:
            self._resign()

    def _trigger_controller_move(self) -> None:
        """Give up being controller, so that there is another election."""
        core = self._core
        core.active_controller_id = self._controller_in_zookeeper()
        if not self.is_active:
            log.warning("Another broker is controller already")
            return
        epoch_zk_version = self.context.epoch_zk_version
        core.active_controller_id = NO_CONTROLLER
        self._resign()
        try:
            self._zk.delete_controller(epoch_zk_version)
        except ControllerMovedError:
            log.warning("Another broker is controller already")

    def _expire(self) -> None:
        """The session is lost (on the ZooKeeper client's thread): be sure that we resign before there is a new one."""

        def resign() -> None:
            self._core.active_controller_id = NO_CONTROLLER
            self._resign()

        self.events.clear_and_put(ControllerEvent("Expire", resign)).finished.wait()

    def _resign(self) -> None:
        """Forget the cluster and stop talking to it. Handlers are taken back without asking ZooKeeper."""
        core = self._core
        epoch = self.context.epoch
        for handler in self._child_handlers:
            self._zk.unregister_znode_child_change_handler(handler.path)
        for node_handler in (self._elections.handler, self._reassignments.handler):
            self._zk.unregister_znode_change_handler(node_handler.path)
        self._brokers.resign()
        self._topics.resign()
        core.events.cancel_later()
        core.channel_manager.shutdown()
        self.context.reset()
        if epoch:
            log.info("Broker %d has resigned as controller of epoch %d", core.config.broker_id, epoch)
