"""One broker from start to stop (Kafka's `KafkaServer`): builds the parts in order, lets go of them in reverse."""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThreadPool

from kafkapy.clients.blocking_client import BlockingClient
from kafkapy.cluster.partition import Partition
from kafkapy.common.broker import Broker, EndPoint
from kafkapy.common.time import SystemTime
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.controller.controller_config import ControllerConfig
from kafkapy.controller.kafka_controller import KafkaController
from kafkapy.coordinator.group.config import GroupConfig, OffsetConfig
from kafkapy.coordinator.group.group_coordinator import GroupCoordinator
from kafkapy.log.log_manager import LogManager
from kafkapy.network.socket_server import ConnectionLimits, SocketServer
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from kafkapy.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from kafkapy.server import broker_identity
from kafkapy.server.authorizer import AllowAll
from kafkapy.server.auto_topic_creation import AutoTopicCreationManager
from kafkapy.server.coordinator_log import CoordinatorLog
from kafkapy.server.dynamic_broker_config import DynamicBrokerConfig
from kafkapy.server.fetch_session import FetchSessionCache
from kafkapy.server.high_watermarks import HighWatermarkCheckpoints
from kafkapy.server.kafka_apis import HANDLERS, KafkaApis
from kafkapy.server.kafka_config import KafkaConfig
from kafkapy.server.leadership import Leadership
from kafkapy.server.metadata_cache import MetadataCache
from kafkapy.server.producer_ids import Block, ProducerIdManager
from kafkapy.server.reactor_scheduler import ReactorScheduler
from kafkapy.server.replica_manager import ReplicaManager
from kafkapy.server.services import BrokerServices
from kafkapy.server.timer import Timer
from kafkapy.server.zk_admin_manager import ZkAdminManager
from kafkapy.zk.kafka_zk_client import KafkaZkClient

log = logging.getLogger("kafkapy.server.KafkaServer")

R = TypeVar("R")

_LOAD_TIMEOUT_S = 60


class KafkaServer:
    """The broker.

    Invariant: `services` is there from the moment requests may come in until `shutdown` has closed every connection. The parts
    are started in the order in which they need each other: ZooKeeper, directories, listeners (bound, doors shut), replicas,
    coordinator, registration in ZooKeeper, controller, doors open.
    """

    def __init__(self, config: KafkaConfig, reactor: Any) -> None:
        self.config = config
        self._reactor = reactor
        self._time = SystemTime()
        self._scheduler = ReactorScheduler(reactor)
        self._undo: list[tuple[str, Callable[[], Any]]] = []
        self._broker_epoch = -1
        self._stopping = False
        self.services: BrokerServices | None = None

    # ------------------------------------------------------------------------------------------------ start

    async def startup(self) -> None:
        """Start all parts; when it returns the broker serves. Whatever fails is raised, after what had started was stopped."""
        try:
            await self._startup()
        except BaseException:
            await self._run_undo()
            raise

    async def _startup(self) -> None:
        config = self.config
        self._reactor.suggestThreadPoolSize(config.background_threads)
        zk_client = await self._in_thread(self._connect_zookeeper)
        self._undo.append(("ZooKeeper client", lambda: self._in_thread(zk_client.close)))
        cluster_id, broker_id = await self._in_thread(self._identify, zk_client)
        dynamic_config = DynamicBrokerConfig(config, zk_client)
        await self._in_thread(dynamic_config.initialize)
        log_manager = await self._in_thread(self._load_logs, zk_client)
        self._undo.append(("log manager", lambda: self._in_thread(log_manager.shutdown)))
        broker_identity.write_meta_properties(log_manager.live_log_dirs, broker_id, cluster_id)

        timer = Timer(self._reactor)
        metadata_cache = MetadataCache(broker_id, self._reactor)
        replica_manager = ReplicaManager(broker_id, log_manager, metadata_cache, self._time, self._scheduler, timer)
        coordinator_log = CoordinatorLog(replica_manager, metadata_cache, config.offsets_load_buffer_size)
        group_coordinator = self._group_coordinator(coordinator_log)
        high_watermarks = HighWatermarkCheckpoints(log_manager.live_log_dirs)
        leadership = Leadership(
            replica_manager,
            high_watermarks,
            lambda leaders, followers: _coordinate(group_coordinator, leaders, followers),
            lambda stopped: _stop_coordinating(group_coordinator, stopped),
        )

        server = self._socket_server()
        self._undo.append(("socket server", lambda: self._close_network(server)))
        for endpoint in config.listeners:
            server.listen(endpoint, config.socket_listen_backlog_size, accept=False)
        broker_info = self._broker_info(server)
        self._broker_epoch = await self._in_thread(zk_client.register_broker, broker_info)
        log.info("Registered broker %d at %s", broker_id, ", ".join(e.connection_string for e in broker_info.broker.end_points))

        controller = KafkaController(self._controller_config(broker_id), zk_client, broker_info, self._broker_epoch, self._time)
        self.services = services = BrokerServices(
            reactor=self._reactor,
            config=config,
            time=self._time,
            scheduler=self._scheduler,
            broker_id=broker_id,
            cluster_id=cluster_id,
            log_manager=log_manager,
            replica_manager=replica_manager,
            leadership=leadership,
            metadata_cache=metadata_cache,
            fetch_sessions=FetchSessionCache(config.max_incremental_fetch_session_cache_slots, self._time),
            group_coordinator=group_coordinator,
            controller=controller,
            zk_client=zk_client,
            admin_manager=ZkAdminManager(config, zk_client),
            auto_topic_creation=None,
            dynamic_config=dynamic_config,
            producer_ids=ProducerIdManager(self._request_producer_ids, Deferred.fromCoroutine, self._time.monotonic_ms),
            authorizer=AllowAll(),
            broker_epoch=lambda: self._broker_epoch,
        )
        services.auto_topic_creation = AutoTopicCreationManager(services)
        server.serve(KafkaApis(services).handle)
        self._schedule_checkpoints(high_watermarks, replica_manager)
        group_coordinator.startup()
        self._undo.append(("group coordinator", group_coordinator.shutdown))
        await self._in_thread(controller.startup)
        self._undo.append(("controller", lambda: self._in_thread(controller.shutdown)))
        server.start_accepting()
        log.info("[KafkaServer id=%d] started", broker_id)

    def _connect_zookeeper(self) -> KafkaZkClient:
        config = self.config
        log.info("Connecting to zookeeper on %s", config.zookeeper_connect)
        zk_client = KafkaZkClient.connect(
            config.zookeeper_connect,
            config.zookeeper_session_timeout_ms,
            config.zk_connection_timeout_ms,
            config.zookeeper_max_in_flight_requests,
        )
        zk_client.create_top_level_paths()
        return zk_client

    def _identify(self, zk_client: KafkaZkClient) -> tuple[str, int]:
        config = self.config
        cluster = broker_identity.cluster_id(zk_client, config.log_dirs)
        log.info("Cluster ID = %s", cluster)
        config.broker_id = broker_identity.broker_id(
            config.broker_id,
            config.broker_id_generation_enable,
            lambda: zk_client.generate_broker_id(config.reserved_broker_max_id),
            config.log_dirs,
        )
        return cluster, config.broker_id
