"""One broker from start to stop (Kafka's `KafkaServer`): builds the parts in order, lets go of them in reverse."""

from __future__ import annotations

import inspect
import logging
import os
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThreadPool
from twisted.python.threadpool import ThreadPool

from kafkapy.clients.blocking_client import BlockingClient
from kafkapy.cluster.partition import Partition
from kafkapy.common import metadata_version
from kafkapy.common.broker import Broker, EndPoint
from kafkapy.common.rate import Rate
from kafkapy.common.time import SystemTime
from kafkapy.common.topic_names import GROUP_METADATA_TOPIC
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.controller.controller_config import ControllerConfig
from kafkapy.controller.kafka_controller import KafkaController
from kafkapy.controller.producer_ids import new_producer_ids_block
from kafkapy.coordinator.group.config import GroupConfig, OffsetConfig
from kafkapy.coordinator.group.group_coordinator import GroupCoordinator
from kafkapy.log.cleaning.log_cleaner import CleanerConfig, LogCleaner
from kafkapy.log.manager.log_manager import LogManager
from kafkapy.network.memory_pool import MemoryPool
from kafkapy.network.socket_server import SocketServer
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from kafkapy.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from kafkapy.server import broker_identity
from kafkapy.server.admin.auto_topic_creation import AutoTopicCreationManager
from kafkapy.server.admin.zk_admin_manager import ZkAdminManager
from kafkapy.server.authorizer import AllowAll
from kafkapy.server.config.change_handlers import config_handlers, usable_topic_configs
from kafkapy.server.config.change_listener import ZkConfigChangeListener
from kafkapy.server.config.dynamic_broker_config import DynamicBrokerConfig
from kafkapy.server.config.dynamic_parts import (
    DynamicCleanerConfig,
    DynamicConnectionLimits,
    DynamicFetchers,
    DynamicListeners,
    DynamicLogConfig,
    DynamicThreadPools,
    connection_limits,
)
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.coordinators.coordinator_log import CoordinatorLog
from kafkapy.server.fetch.fetch_session import FetchSessionCache
from kafkapy.server.inter_broker.producer_ids import Block, ProducerIdManager
from kafkapy.server.kafka_apis import HANDLERS, KafkaApis
from kafkapy.server.metadata.finalized_features import FinalizedFeatureListener
from kafkapy.server.metadata.first_metadata import FirstMetadata
from kafkapy.server.metadata.metadata_cache import MetadataCache
from kafkapy.server.metrics.config import MetricsConfig
from kafkapy.server.purgatory.timer import Timer
from kafkapy.server.reactor_scheduler import ReactorScheduler
from kafkapy.server.replication.high_watermarks import HighWatermarkCheckpoints
from kafkapy.server.replication.leadership import Leadership
from kafkapy.server.replication.replica_alter_log_dirs import ReplicaAlterLogDirsManager
from kafkapy.server.replication.replica_manager import ReplicaManager
from kafkapy.server.replication.replica_selector import make_replica_selector
from kafkapy.server.replication.replication import Replication, replication_quota
from kafkapy.server.services import BrokerServices
from kafkapy.zk.kafka_zk_client import KafkaZkClient
from kafkapy.zk.session_closer import Session
from kafkapy.zk.zk_data import BrokerInfo

log = logging.getLogger("kafkapy.server.KafkaServer")

R = TypeVar("R")


class KafkaServer:
    """The broker.

    Invariant: `services` is there from the moment requests may come in until `shutdown` has closed every connection. The parts
    are started in the order in which they need each other: ZooKeeper, directories, listeners (bound, doors shut), replicas,
    coordinator, registration in ZooKeeper, controller, doors open.
    """

    def __init__(
        self,
        config: KafkaConfig,
        reactor: Any,
        on_zk_session: Callable[[Session | None], None] | None = None,
        metrics: MetricsConfig | None = None,
    ) -> None:
        """`on_zk_session` hears of each ZooKeeper session, on kazoo's thread; None: closed (the watchdog wants to know).

        `metrics`: where to serve them; None: nowhere.
        """
        self._metrics_config = metrics
        self.config = config
        self._reactor = reactor
        self._on_zk_session = on_zk_session
        self._time = SystemTime()
        self._scheduler = ReactorScheduler(reactor)
        self._undo: list[tuple[str, Callable[[], Any]]] = []
        self._broker_epoch = -1
        self._stopping = False
        self.services: BrokerServices | None = None
        self.starting = False
        """True while `startup` is at work. Its threads may then wait for ZooKeeper or recover logs, even after `shutdown`."""

    # ------------------------------------------------------------------------------------------------ start

    async def startup(self) -> None:
        """Start all parts; when it returns the broker serves. Whatever fails is raised, after what had started was stopped."""
        self.starting = True
        try:
            await self._startup()
        except BaseException:
            self._stopping = True
            await self._run_undo()
            raise
        finally:
            self.starting = False

    async def _startup(self) -> None:
        config = self.config
        self._reactor.suggestThreadPoolSize(config.background_threads)
        request_threads = self._request_threads()
        zk_client = await self._in_thread(self._connect_zookeeper)
        self._undo.append(("ZooKeeper client", lambda: self._in_thread(zk_client.close)))
        cluster_id, broker_id = await self._in_thread(self._identify, zk_client)
        dynamic_config = DynamicBrokerConfig(config)
        dynamic_config.initialize(*await self._in_thread(_dynamic_properties, zk_client, broker_id))
        log_manager = await self._in_thread(self._load_logs, zk_client)
        self._undo.append(("log manager", lambda: self._in_thread(log_manager.shutdown)))
        await self._in_thread(broker_identity.write_meta_properties, log_manager.live_log_dirs, broker_id, cluster_id)

        timer = Timer(self._reactor)
        metadata_cache = MetadataCache(broker_id, self._reactor)
        replica_manager = ReplicaManager(
            broker_id,
            log_manager,
            metadata_cache,
            self._time,
            timer,
            producer_purge_interval=config.producer_purgatory_purge_interval_requests,
            fetch_purge_interval=config.fetch_purgatory_purge_interval_requests,
            delete_records_purge_interval=config.delete_records_purgatory_purge_interval_requests,
            replica_lag_time_max_ms=config.replica_lag_time_max_ms,
            replica_selector=make_replica_selector(config.replica_selector_class),
            leader_quota=replication_quota(config, self._time),
        )
        replication = Replication(config, self._reactor, self._time, self._scheduler, replica_manager, zk_client)
        group_coordinator = self._group_coordinator(replica_manager, metadata_cache)
        high_watermarks = HighWatermarkCheckpoints(log_manager)
        self._undo.append(("high watermarks", lambda: self._write_high_watermarks(high_watermarks, replica_manager)))
        log_dir_moves = ReplicaAlterLogDirsManager(
            replica_manager,
            high_watermarks,
            replication.throttles.alter_log_dirs,
            self._in_thread,
            self._scheduler,
            config.effective_num_replica_alter_log_dirs_threads,
            config.replica_fetch_backoff_ms,
        )
        leadership = Leadership(
            replica_manager,
            high_watermarks,
            lambda leaders, followers: _coordinate(group_coordinator, leaders, followers),
            lambda stopped: _stop_coordinating(group_coordinator, stopped),
            replication.fetchers,
            log_dir_moves,
            metadata_version.is_truncation_on_fetch_supported(config.inter_broker_protocol_version),
        )

        log_manager.on_dir_failure = lambda directory, names: self._reactor.callFromThread(
            self._log_dir_failed, directory, names, log_manager, replica_manager, replication, log_dir_moves, zk_client
        )
        sockets = self._socket_server()
        self._undo.append(("socket server", sockets.shutdown))
        for endpoint in config.listeners:
            sockets.listen(endpoint, config.socket_listen_backlog_size)
        broker_info = self._broker_info(sockets)
        await self._in_thread(broker_identity.check_end_points, zk_client, broker_info.broker)
        self._broker_epoch = await self._in_thread(zk_client.register_broker, broker_info)
        log.info(
            "Registered broker %d at %s",
            broker_id,
            ", ".join(e.connection_string for e in broker_info.broker.end_points),
        )

        controller = KafkaController(
            self._controller_config(),
            zk_client,
            broker_info,
            self._broker_epoch,
            self._time,
            on_broker_registered=self._registered_anew,
        )
        self.services = services = BrokerServices(
            reactor=self._reactor,
            request_threads=request_threads,
            config=config,
            time=self._time,
            scheduler=self._scheduler,
            broker_id=broker_id,
            cluster_id=cluster_id,
            log_manager=log_manager,
            replica_manager=replica_manager,
            leadership=leadership,
            metadata_cache=metadata_cache,
            fetch_sessions=FetchSessionCache(
                config.max_incremental_fetch_session_cache_slots, self._time, replica_manager=replica_manager
            ),
            group_coordinator=group_coordinator,
            controller=controller,
            zk_client=zk_client,
            admin_manager=ZkAdminManager(config, zk_client),
            auto_topic_creation=AutoTopicCreationManager(
                config, zk_client, metadata_cache, partial(deferToThreadPool, self._reactor, request_threads)
            ),
            dynamic_config=dynamic_config,
            producer_ids=ProducerIdManager(
                self._request_producer_ids, lambda work: Deferred.fromCoroutine(work), self._time.monotonic_ms
            ),
            authorizer=AllowAll(),
            broker_epoch=lambda: self._broker_epoch,
            finalized_features=FinalizedFeatureListener(
                zk_client, lambda work: self._scheduler.schedule_in_thread("features", work)
            ),
            log_dir_moves=log_dir_moves,
            throttles=replication.throttles,
        )
        self._scheduler.schedule(
            "highwatermark-checkpoint",
            lambda: self._write_high_watermarks(high_watermarks, replica_manager),
            config.replica_high_watermark_checkpoint_interval_ms,
            config.replica_high_watermark_checkpoint_interval_ms,
        )
        replication.startup(lambda: self._broker_epoch)
        self._undo.append(("replication", replication.shutdown))
        self._undo.append(("log dir moves", log_dir_moves.shutdown))
        group_coordinator.startup(await self._in_thread(zk_client.get_topic_partition_count, GROUP_METADATA_TOPIC))
        self._undo.append(("group coordinator", group_coordinator.shutdown))
        if metadata_version.is_feature_versioning_supported(config.inter_broker_protocol_version):
            await self._in_thread(services.finalized_features.startup)
        await self._in_thread(controller.startup)
        self._undo.append(("controller", lambda: self._in_thread(controller.shutdown)))
        await self._follow_configs(services, sockets, replication)
        self._serve_metrics(services, sockets, replication)
        first_metadata = FirstMetadata(KafkaApis(services).handle, metadata_cache, bool(log_manager.all_logs()))
        sockets.start_accepting(first_metadata.handle)
        self._undo.append(("listeners", sockets.stop_listening))
        log.info("[KafkaServer id=%d] started", broker_id)

    def _serve_metrics(self, services: BrokerServices, sockets: SocketServer, replication: Replication) -> None:
        """Without them, what only they need is not even imported."""
        if self._metrics_config is None:
            return
        from kafkapy.server.metrics.broker_metrics import BrokerMetrics

        metrics = BrokerMetrics(
            self._metrics_config, services, sockets, replication.fetchers, self._time, lambda: self._stopping
        )
        if metrics.start():
            self._undo.append(("metrics", metrics.stop))

    async def _follow_configs(self, services: BrokerServices, sockets: SocketServer, replication: Replication) -> None:
        """Apply what ZooKeeper has of configs, now and whenever it changes (KIP-226)."""
        dynamic_config, controller = services.dynamic_config, services.controller
        for part in (
            DynamicLogConfig(services.log_manager, controller),
            DynamicConnectionLimits(sockets),
            DynamicListeners(
                self.config,
                sockets,
                lambda: self._in_thread(controller.update_broker_info, self._broker_info(sockets)),
            ),
            DynamicThreadPools(self._reactor, services.request_threads),
            DynamicCleanerConfig(services.log_manager, self._reactor),
            DynamicFetchers(replication.fetchers),
        ):
            dynamic_config.add_reconfigurable(part)
        handlers = config_handlers(
            self.config,
            dynamic_config,
            services.log_manager.update_topic_config,
            controller.enable_topic_unclean_leader_election,
            replication.throttles,
        )
        listener = ZkConfigChangeListener(services.zk_client, handlers, self._reactor.callFromThread, self._time)
        await self._in_thread(listener.startup)
        self._undo.append(("config listener", lambda: self._in_thread(listener.shutdown)))

    def _request_threads(self) -> ThreadPool:
        """For requests that wait for ZooKeeper: when all of these threads do, the background pool still flushes logs.

        They are stopped after the ZooKeeper client is closed, which wakes them.
        """
        threads = ThreadPool(0, self.config.num_io_threads, "requests")
        threads.start()
        self._undo.append(("request threads", threads.stop))
        return threads

    def _connect_zookeeper(self) -> KafkaZkClient:
        config = self.config
        log.info("Connecting to zookeeper on %s", config.zookeeper_connect)
        zk_client = KafkaZkClient.connect(
            config.zookeeper_connect,
            config.zookeeper_session_timeout_ms,
            config.zk_connection_timeout_ms,
            config.zookeeper_max_in_flight_requests,
            on_session=self._on_zk_session,
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

    def _load_logs(self, zk_client: KafkaZkClient) -> LogManager:
        config = self.config
        stored = zk_client.get_entities_configs("topics", zk_client.get_all_entities_with_config("topics"))
        topic_configs = {topic: usable_topic_configs(config, topic, configs) for topic, configs in stored.items()}
        make_cleaner = self._log_cleaner if config.log_cleaner_enable else None
        log_manager = LogManager.from_config(config, topic_configs, self._scheduler, self._time, make_cleaner)
        log_manager.startup()
        return log_manager

    def _log_cleaner(self, manager: LogManager) -> LogCleaner:
        cleaner_config = CleanerConfig.of(self.config)
        return LogCleaner(
            cleaner_config, manager.live_log_dirs, manager.logs, self._time, manager.handle_log_dir_failure
        )

    def _group_coordinator(self, replica_manager: ReplicaManager, metadata_cache: MetadataCache) -> GroupCoordinator:
        config = self.config
        coordinator_log = CoordinatorLog(replica_manager, metadata_cache, config.offsets_load_buffer_size)
        group_config = GroupConfig(
            min_session_timeout_ms=config.group_min_session_timeout_ms,
            max_session_timeout_ms=config.group_max_session_timeout_ms,
            max_size=config.group_max_size,
            initial_rebalance_delay_ms=config.group_initial_rebalance_delay_ms,
        )
        offset_config = OffsetConfig(
            max_metadata_size=config.offset_metadata_max_bytes,
            retention_ms=config.offsets_retention_minutes * 60_000,
            retention_check_interval_ms=config.offsets_retention_check_interval_ms,
            topic_num_partitions=config.offsets_topic_num_partitions,
            compression_codec=config.offsets_topic_compression_codec,
            commit_timeout_ms=config.offsets_commit_timeout_ms,
            inter_broker_protocol_version=config.inter_broker_protocol_version,
        )
        return GroupCoordinator(
            group_config, offset_config, coordinator_log, coordinator_log, self._scheduler, self._time
        )

    def _socket_server(self) -> SocketServer:
        config = self.config
        return SocketServer(
            self._reactor,
            HANDLERS,
            config.socket_request_max_bytes,
            connection_limits(config),
            config.inter_broker_listener_name,
            make_rate=lambda: Rate(config.quota_window_num, config.quota_window_size_seconds * 1000),
            send_buffer=config.socket_send_buffer_bytes,
            receive_buffer=config.socket_receive_buffer_bytes,
            memory_pool=MemoryPool(config.queued_max_request_bytes) if config.queued_max_request_bytes > 0 else None,
        )

    def _broker_info(self, sockets: SocketServer) -> BrokerInfo:
        """What goes into ZooKeeper: the advertised listeners, with the port that was bound where none was named."""
        config = self.config
        end_points = tuple(
            EndPoint(
                e.host or socket.getfqdn(),
                e.port or sockets.bound_port(e.listener_name),
                e.listener_name,
                e.security_protocol,
            )
            for e in config.advertised_listeners
        )
        version = metadata_version.broker_registration_version(config.inter_broker_protocol_version)
        return BrokerInfo(Broker(config.broker_id, end_points, config.broker_rack), version)

    def _controller_config(self) -> ControllerConfig:
        config = self.config
        return ControllerConfig(
            broker_id=config.broker_id,
            inter_broker_listener_name=config.inter_broker_listener_name,
            inter_broker_protocol_version=config.inter_broker_protocol_version,
            control_plane_listener_name=config.control_plane_listener_name,
            delete_topic_enable=config.delete_topic_enable,
            unclean_leader_election_enable=config.unclean_leader_election_enable,
            auto_leader_rebalance_enable=config.auto_leader_rebalance_enable,
            leader_imbalance_check_interval_seconds=config.leader_imbalance_check_interval_seconds,
            leader_imbalance_per_broker_percentage=config.leader_imbalance_per_broker_percentage,
            controller_socket_timeout_ms=config.controller_socket_timeout_ms,
        )

    def _registered_anew(self, broker_epoch: int) -> None:
        """On the controller thread: a new ZooKeeper session has registered this broker under a new epoch."""
        log.info("Registered again after the ZooKeeper session had expired: broker epoch %d", broker_epoch)
        self._broker_epoch = broker_epoch

    def _log_dir_failed(
        self,
        directory: str,
        partitions: list[TopicPartition],
        log_manager: LogManager,
        replica_manager: ReplicaManager,
        replication: Replication,
        log_dir_moves: ReplicaAlterLogDirsManager,
        zk_client: KafkaZkClient,
    ) -> None:
        """The controller is told through ZooKeeper and moves the leaders; without any directory left the broker ends.

        Below inter.broker.protocol.version 1.0 it ends at the first: it couldn't tell a new replica from one that was in there.
        """
        replication.fetchers.remove(partitions)
        log_dir_moves.dir_failed(directory, partitions)
        replica_manager.mark_offline(partitions)
        log.error("%d partitions are offline because log directory %s has failed", len(partitions), directory)
        if metadata_version.does_leader_and_isr_tell_new_replicas(self.config.inter_broker_protocol_version):
            if log_manager.live_log_dirs:
                self._in_thread(zk_client.propagate_log_dir_event, self.config.broker_id)
                return
            log.critical("Shutdown broker because all log dirs in %s have failed", ", ".join(self.config.log_dirs))
        else:
            log.critical("Shutdown broker because log directory %s has failed", directory)
        logging.shutdown()
        # As Kafka halts: an orderly stop would write checkpoints into directories that can't be written.
        os._exit(1)

    def _write_high_watermarks(
        self, high_watermarks: HighWatermarkCheckpoints, replicas: ReplicaManager
    ) -> Awaitable[None]:
        return self._in_thread(high_watermarks.write, list(replicas.partitions()))

    async def _request_producer_ids(self) -> Block:
        """Ask the controller, over the network even if it is this broker (KIP-730); before 3.0 brokers asked ZooKeeper."""
        if not metadata_version.is_allocate_producer_ids_supported(self.config.inter_broker_protocol_version):
            assert self.services is not None
            block = await self._in_thread(new_producer_ids_block, self.config.broker_id, self.services.zk_client)
            return block.first_producer_id, block.size
        request = AllocateProducerIdsRequest(broker_id=self.config.broker_id, broker_epoch=self._broker_epoch)
        response = await self._in_thread(self._call_controller, request)
        error = Errors.for_code(response.error_code)
        if error is not Errors.NONE:
            raise KafkaError(error)
        return response.producer_id_start, response.producer_id_len

    def _call_controller(self, request: Message, version: int | None = None) -> Any:
        """Send one request to the active controller and wait. Blocks; `KafkaError` if there is none or it can't be reached.

        `version`: None for the highest that both know.
        """
        assert self.services is not None
        cache = self.services.metadata_cache
        controller_id = cache.controller_id
        listener = self.config.control_plane_listener_name or self.config.inter_broker_listener_name
        node = None if controller_id is None else cache.alive_broker(controller_id, listener)
        if node is None:
            raise KafkaError(Errors.NOT_CONTROLLER, "no controller is known")
        timeout = self.config.controller_socket_timeout_ms
        with BlockingClient(
            node.host, node.port, f"broker-{self.config.broker_id}", request_timeout_ms=timeout
        ) as client:
            return client.call(request, version)

    # ------------------------------------------------------------------------------------------------ stop

    async def shutdown(self) -> None:
        """Stop in order: hand over leadership, close the doors, flush, let go of ZooKeeper."""
        if self._stopping:
            return
        self._stopping = True
        log.info("[KafkaServer id=%d] shutting down", self.config.broker_id)
        if self.services is not None and self.config.controlled_shutdown_enable:
            await self._in_thread(self._controlled_shutdown)
        self._scheduler.shutdown()
        await self._run_undo()
        log.info("[KafkaServer id=%d] shut down completed", self.config.broker_id)

    def _controlled_shutdown(self) -> None:
        """Ask the controller to move this broker's leaders away (`controlled.shutdown.max.retries`, `.retry.backoff.ms`)."""
        config = self.config
        version = metadata_version.controlled_shutdown_version(config.inter_broker_protocol_version)
        for attempt in range(config.controlled_shutdown_max_retries + 1):
            try:
                request = ControlledShutdownRequest(broker_id=config.broker_id, broker_epoch=self._broker_epoch)
                response = self._call_controller(request, version)
                if response.error_code == 0 and not response.remaining_partitions:
                    log.info("Controlled shutdown request returned successfully")
                    return
                log.info(
                    "Controlled shutdown: %s, %d partitions left",
                    Errors.for_code(response.error_code).name,
                    len(response.remaining_partitions),
                )
            except KafkaError as error:
                log.info("Controlled shutdown: %s", error)
            if attempt < config.controlled_shutdown_max_retries:
                self._time.sleep(config.controlled_shutdown_retry_backoff_ms / 1000)
        log.warning("Proceeding to do an unclean shutdown as all the controlled shutdown attempts failed")

    async def _run_undo(self) -> None:
        while self._undo:
            name, undo = self._undo.pop()
            try:
                result = undo()
                if inspect.isawaitable(result):
                    await result
            except Exception:
                log.exception("Error while stopping the %s", name)

    def _in_thread(self, function: Callable[..., R], *args: Any) -> Deferred[R]:
        return deferToThreadPool(self._reactor, self._reactor.getThreadPool(), function, *args)


def _dynamic_properties(zk_client: KafkaZkClient, broker_id: int) -> tuple[dict[str, str], dict[str, str]]:
    """(cluster defaults, this broker's) dynamic configs as ZooKeeper has them."""
    return zk_client.get_entity_configs("brokers", "<default>"), zk_client.get_entity_configs("brokers", str(broker_id))


def _coordinate(coordinator: GroupCoordinator, leaders: list[Partition], followers: list[Partition]) -> None:
    """Whoever leads a partition of `__consumer_offsets` coordinates its groups."""
    for partition in leaders:
        if partition.topic_partition.topic == GROUP_METADATA_TOPIC:
            coordinator.on_election(partition.topic_partition.partition, partition.leader_epoch)
    for partition in followers:
        if partition.topic_partition.topic == GROUP_METADATA_TOPIC:
            coordinator.on_resignation(partition.topic_partition.partition, partition.leader_epoch)


def _stop_coordinating(coordinator: GroupCoordinator, stopped: list[TopicPartition]) -> None:
    for name in stopped:
        if name.topic == GROUP_METADATA_TOPIC:
            coordinator.on_resignation(name.partition, None)
