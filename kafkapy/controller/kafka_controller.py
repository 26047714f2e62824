"""The broker's controller: a candidate in elections, and possibly the active controller (Kafka's `KafkaController`).

All work is done in events on the controller thread. A change is written to ZooKeeper first, checked against the
controller epoch, then to the context, then sent to the brokers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from kafkapy.common.replica_assignment import ReplicaAssignment
from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.wire_enums import ElectionType
from kafkapy.controller.broker_changes import BrokerChanges
from kafkapy.controller.channel_manager import ControllerChannelManager
from kafkapy.controller.controller_config import ControllerConfig
from kafkapy.controller.controller_context import ControllerContext
from kafkapy.controller.controller_election import ControllerElection, ControllerParts
from kafkapy.controller.core import ControllerCore
from kafkapy.controller.event_manager import ControllerEvent, ControllerEventManager
from kafkapy.controller.features import FeatureVersioning
from kafkapy.controller.isr_changes import IsrChanges
from kafkapy.controller.leader_elections import LeaderElections
from kafkapy.controller.partition_state_machine import PartitionStateMachine
from kafkapy.controller.producer_ids import allocate_producer_ids
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
from kafkapy.zk.kafka_zk_client import KafkaZkClient
from kafkapy.zk.zk_data import BrokerInfo

log = logging.getLogger("kafkapy.controller")

T = TypeVar("T")


class KafkaController:
    """Public methods are thread-safe; they enqueue an event. Callbacks are called on the controller thread.

    Invariant: the context is empty unless `is_active`; every event except those of `ControllerElection` checks that
    first.
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
        on_elected: Callable[[], object] = lambda: None,
    ) -> None:
        """The callbacks run on the controller thread, and must not block: `on_broker_registered(broker_epoch)` after a
        new session has registered the broker, `on_elected()` after this broker has become the controller and loaded
        the context."""
        self._zk = zk_client
        self.context = ControllerContext()
        self.events = ControllerEventManager(self._process, time)
        self._core = core = self._new_core(config, channel_manager or ControllerChannelManager(config))
        features = FeatureVersioning(zk_client, config.inter_broker_protocol_version)
        reassignments = PartitionReassignments(core)
        self._parts = ControllerParts(
            features,
            reassignments,
            BrokerChanges(core, reassignments, features),
            TopicChanges(core),
            LeaderElections(core),
            IsrChanges(core, reassignments),
        )
        self._election = ControllerElection(
            core, self._parts, broker_info, broker_epoch, on_broker_registered, on_elected
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
            lambda topic: self._parts.topics.unregister_partition_modifications_handler(topic),
        )
        return ControllerCore(config, context, zk, self.events, channel, new_batch, partitions, replicas, deletion)

    # --- life -----------------------------------------------------------------------------------------------------

    @property
    def is_active(self) -> bool:
        """Return whether this broker is the controller."""
        return self._core.is_active

    @property
    def controller_id(self) -> int:
        """The last known active controller; -1 if there is none."""
        return self._core.active_controller_id

    @property
    def broker_epoch(self) -> int:
        """The epoch of this broker's registration; a new session increases it."""
        return self._election.broker_epoch

    @property
    def epoch(self) -> int:
        """The controller epoch while active, else 0."""
        return self.context.epoch

    @property
    def leader_elections(self) -> int:
        """Number of leaders elected by this controller so far."""
        return self._core.partition_state_machine.leader_elections

    @property
    def unclean_leader_elections(self) -> int:
        """Number of these leaders that were not in sync (Kafka's `UncleanLeaderElectionsPerSec`)."""
        return self._core.partition_state_machine.unclean_leader_elections

    def startup(self) -> None:
        """Start taking part in elections; returns immediately."""
        self.enqueue_startup()
        self.events.start()

    def enqueue_startup(self) -> None:
        """As `startup`, without the thread: a test processes the events itself."""
        self._election.begin()

    def shutdown(self) -> None:
        """Stop for good. /controller is removed when the server closes the session."""
        self.events.close()
        self._election.end()

    def update_broker_info(self, broker_info: BrokerInfo) -> None:
        """Register changed listeners (blocks on ZooKeeper, so not from the reactor)."""
        self._election.broker_info = broker_info
        self._zk.update_broker_info(broker_info)

    # --- calls by the API handlers --------------------------------------------------------------------------------

    def alter_partition(
        self, request: AlterPartitionRequest, version: int, callback: Callable[[AlterPartitionResponse], object]
    ) -> None:
        def not_controller() -> None:
            callback(AlterPartitionResponse(error_code=Errors.NOT_CONTROLLER.code))

        def process() -> None:
            altered: list[TopicPartition] = []
            try:
                response, altered = self._parts.isr.alter_partition(request, version)
            except ControllerMovedError:
                not_controller()
                raise
            except Exception:
                log.exception("AlterPartition of broker %d failed: %s", request.broker_id, request)
                response = AlterPartitionResponse(error_code=Errors.UNKNOWN_SERVER_ERROR.code)
            callback(response)
            self._parts.isr.complete_reassignments(altered)

        self._put_request("AlterPartition", process, not_controller)

    def controlled_shutdown(
        self, broker_id: int, broker_epoch: int, callback: Callable[[set[TopicPartition] | KafkaError], object]
    ) -> None:
        """Move a broker's leaders away; the callback gets the partitions it still leads, or an error."""
        self._ask(
            "ControlledShutdown",
            lambda: self._parts.brokers.controlled_shutdown(broker_id, broker_epoch),
            callback,
            not_controller=Errors.STALE_CONTROLLER_EPOCH,
        )

    def elect_leaders(
        self,
        partitions: Iterable[TopicPartition],
        election_type: ElectionType,
        callback: Callable[[dict[TopicPartition, KafkaError | int] | KafkaError], object],
    ) -> None:
        """Elect leaders; the callback gets each partition's new leader, or its error."""
        self._ask("ElectLeaders", lambda: self._parts.elections.elect_leaders(partitions, election_type), callback)

    def alter_partition_reassignments(
        self,
        reassignments: Iterable[tuple[TopicPartition, Sequence[int] | None]],
        callback: Callable[[dict[TopicPartition, KafkaError | None] | KafkaError], object],
    ) -> None:
        """Start reassignments, or cancel those whose target is None; the callback gets each one's error."""
        self._ask("ApiPartitionReassignment", lambda: self._parts.reassignments.alter(dict(reassignments)), callback)

    def list_partition_reassignments(
        self,
        partitions: Iterable[TopicPartition] | None,
        callback: Callable[[dict[TopicPartition, ReplicaAssignment] | KafkaError], object],
    ) -> None:
        """Pass the current reassignments of these partitions (None: of all) to the callback."""
        self._ask("ListPartitionReassignments", lambda: self._parts.reassignments.reassigning(partitions), callback)

    def allocate_producer_ids(
        self, request: AllocateProducerIdsRequest, callback: Callable[[AllocateProducerIdsResponse], object]
    ) -> None:
        def answer(result: AllocateProducerIdsResponse | KafkaError) -> None:
            if isinstance(result, KafkaError):
                result = AllocateProducerIdsResponse(error_code=result.error.code)
            callback(result)

        self._ask("AllocateProducerIds", lambda: allocate_producer_ids(request, self.context, self._zk), answer)

    def update_features(
        self,
        request: UpdateFeaturesRequest,
        version: int,
        callback: Callable[[dict[str, KafkaError] | KafkaError], object],
    ) -> None:
        """Update features; the callback gets an error for each, `Errors.NONE` for applied updates."""

        def process() -> dict[str, KafkaError]:
            return self._parts.features.update(request, version, list(self.context.live_or_shutting_down_brokers))

        self._ask("UpdateFeatures", process, callback)

    # --- calls by the server --------------------------------------------------------------------------------------

    def enable_default_unclean_leader_election(self) -> None:
        """Process unclean.leader.election.enable changed to true, for all topics without their own value."""
        self._core.config.unclean_leader_election_enable = True
        self._core.put(
            "UncleanLeaderElectionEnable", lambda: self._parts.elections.process_unclean_election_enabled(None)
        )

    def disable_default_unclean_leader_election(self) -> None:
        self._core.config.unclean_leader_election_enable = False

    def enable_topic_unclean_leader_election(self, topic: str) -> None:
        self._core.put(
            "TopicUncleanLeaderElectionEnable", lambda: self._parts.elections.process_unclean_election_enabled(topic)
        )

    def is_topic_queued_for_deletion(self, topic: str) -> bool:
        return topic in self.context.topics_to_be_deleted

    # --- responses of brokers (ResponseHandler) ---------------------------------------------------------------------

    def leader_and_isr_response_received(self, response: LeaderAndIsrResponse, broker_id: int) -> None:
        self._core.put(
            "LeaderAndIsrResponseReceived",
            lambda: self._parts.brokers.process_leader_and_isr_response(response, broker_id),
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
                lambda: self._parts.topics.process_stop_replica_response(response, broker_id, to_delete),
            )
        elif response.error_code != Errors.NONE.code:
            error = Errors.for_code(response.error_code)
            log.error("Broker %d refused a StopReplica request: %s", broker_id, error.name)

    # --- events ---------------------------------------------------------------------------------------------------

    def _put_request(self, name: str, process: Callable[[], object], not_controller: Callable[[], object]) -> None:
        """Queue an event with a waiting caller; `not_controller` is called instead if this broker is not the controller."""
        event = ControllerEvent(name, lambda: process() if self.is_active else not_controller(), preempt=not_controller)
        self.events.put(event)

    def _ask(
        self,
        name: str,
        process: Callable[[], T],
        callback: Callable[[T | KafkaError], object],
        not_controller: Errors = Errors.NOT_CONTROLLER,
    ) -> None:
        """As `_put_request`; the callback gets the result of `process`, or its `KafkaError`."""

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
                self._election.maybe_resign()
        except Exception:
            log.exception("Event %s failed", event.name)
