"""One broker from start to stop (Kafka's `KafkaServer`): starts its parts in order, and stops them in reverse order."""

from __future__ import annotations

import inspect
import logging
import os
import resource
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from twisted.internet.defer import Deferred

from kafkapy.clients.blocking_client import BlockingClient
from kafkapy.common import metadata_version
from kafkapy.common.broker import Broker, EndPoint
from kafkapy.common.topic_names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.controller.kafka_controller import KafkaController
from kafkapy.controller.producer_ids import new_producer_ids_block
from kafkapy.network.large_requests import LargeRequests
from kafkapy.network.socket_server import SocketServer, bind_address
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from kafkapy.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from kafkapy.runtime.clock import P, R
from kafkapy.runtime.garbage import CHECK_INTERVAL_MS, FullCollections
from kafkapy.runtime.reactor_clock import RequestThreads, defer_to_pool
from kafkapy.server import broker_identity
from kafkapy.server.api_handlers import Handlers
from kafkapy.server.build import (
    Core,
    Environment,
    Guards,
    build_audit,
    build_controller,
    build_core,
    build_guards,
    build_handlers,
    build_metrics,
    build_sockets,
    load_logs,
)
from kafkapy.server.config.dynamic_broker_config import DynamicBrokerConfig
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.config.startup_warnings import warn_of_open_files_limit
from kafkapy.server.config.zk_entity_configs import change_entity_config
from kafkapy.server.hooks import BuiltBroker, Hooks
from kafkapy.server.inter_broker.client_config import inter_broker_client_config
from kafkapy.server.inter_broker.producer_ids import Block, ProducerIdManager
from kafkapy.server.kafka_apis import KafkaApis
from kafkapy.server.metadata.metadata_cache import MetadataCache
from kafkapy.server.metadata.metadata_gate import MetadataGate
from kafkapy.server.metrics.config import HEALTH_LISTENER, LISTENER, HttpAddress, MetricsConfig
from kafkapy.server.quotas.quota_managers import EXPIRE_MS
from kafkapy.server.reconfiguration.change_handlers import config_handlers
from kafkapy.server.reconfiguration.change_listener import ZkConfigChangeListener
from kafkapy.server.reconfiguration.dynamic_parts import (
    DynamicCleanerConfig,
    DynamicConnectionLimits,
    DynamicFetchers,
    DynamicListeners,
    DynamicLogConfig,
    DynamicThreadPools,
    DynamicTls,
    HostAddresses,
    connection_limits,
)
from kafkapy.server.security.delegation_token_manager import DelegationTokenManager
from kafkapy.server.security.tls_listeners import CHECK_MS
from kafkapy.server.zookeeper_connector import ZooKeeperConnector
from kafkapy.zk.embedded.connect import EmbeddedConnect
from kafkapy.zk.kafka_zk_client import KafkaZkClient
from kafkapy.zk.zk_data import BrokerInfo

if TYPE_CHECKING:
    from kafkapy.network.http_site import HttpSite
    from kafkapy.server.security.audit.audit_config import AuditConfig
    from kafkapy.zk.embedded.server import EmbeddedZooKeeper

log = logging.getLogger("kafkapy.server.KafkaServer")

AUDIT_FLUSH_SECONDS = 2.0
"""How long a stop waits for audit records to be written."""


class Part(NamedTuple):
    """A part of the broker: started in order, stopped after every part that was started later. `start` and `stop` may
    return awaitables.

    A part that fails to start is not stopped.
    """

    name: str
    """Completes the log message "Error while stopping the ..."."""
    start: Callable[[], object] | None
    """None: it is already running."""
    stop: Callable[[], object] | None = None


class KafkaServer:
    """The broker.

    Invariant: `_started` has the parts to stop, in the order of their start; each part depends on earlier ones only:
    ZooKeeper, log directories, listeners (bound, not accepting yet), replicas, coordinators, registration in
    ZooKeeper, listeners accepting, controller.
    """

    def __init__(
        self,
        config: KafkaConfig,
        reactor: Any,
        zookeeper: ZooKeeperConnector | None = None,
        metrics: MetricsConfig | None = None,
        health: HttpAddress | None = None,
        hooks: Hooks | None = None,
        audit: AuditConfig | None = None,
    ) -> None:
        """`zookeeper`: a connection that is being opened; None: `startup` opens one. `metrics`: address that serves
        metrics; None: not served. `health`: address of the health checks, served from the start of `startup` to the
        end of `shutdown`. `hooks`: for tests. `audit`: what to record, and where; None: nothing.
        """
        self._hooks = hooks or Hooks()
        self._health_address = health
        self._metrics_config = metrics
        self._audit_config = audit
        self._metrics_site: HttpSite | None = None
        self.config = config
        self._reactor = reactor
        self._zookeeper = zookeeper or ZooKeeperConnector(config, self._hooks.zk_session)
        self._clock = self._hooks.clock(reactor)
        self._started: list[Part] = []
        self._addresses = HostAddresses()
        self._broker_epoch = -1
        self._stopping = False
        self._is_accepting = False
        self._zk_client: KafkaZkClient | None = None
        self._metadata_cache: MetadataCache | None = None
        self._controller: KafkaController | None = None
        self.embedded_zookeeper: EmbeddedZooKeeper | None = None
        """Set with `zookeeper.connect=embedded`, once it has started."""
        self.starting = False
        """True while `startup` runs. Its threads may wait for ZooKeeper or recover logs even after `shutdown`."""

    # ------------------------------------------------------------------------------------------------ start

    async def startup(self) -> None:
        """Start all parts; on return the broker serves requests. If a part fails, stop the started ones and raise its error."""
        self.starting = True
        try:
            await self._startup()
        except BaseException:
            self._stopping = True
            await self._stop_parts()
            raise
        finally:
            self.starting = False

    async def _startup(self) -> None:
        config = self.config
        self._reactor.suggestThreadPoolSize(config.background_threads)
        if self._health_address is not None:
            await self._listen(HEALTH_LISTENER, self._health_address)
        if self._metrics_config is not None:
            self._metrics_site = await self._listen(LISTENER, self._metrics_config.address)
        threads = RequestThreads.of(self._reactor, config.num_io_threads, config.num_network_threads)
        await self._start(Part("request threads", threads.start, threads.stop))
        zookeeper_connect = await self._start_embedded_zookeeper() or config.zookeeper_connect
        zk_client = await self._in_thread(self._zookeeper.connect, zookeeper_connect)
        await self._start(Part("ZooKeeper client", None, lambda: self._in_thread(zk_client.close)))
        environment = Environment(
            self._reactor,
            self._clock,
            threads.zookeeper.in_thread,
            threads.records.in_thread,
            threads.cold_reads.in_thread,
            zk_client,
            lambda: self._broker_epoch,
        )
        cluster_id, broker_id = await self._in_thread(self._identify, zk_client)
        dynamic_config = DynamicBrokerConfig(config)
        dynamic_config.initialize(*await self._in_thread(_dynamic_properties, zk_client, dynamic_config))
        core = await self._build_core(environment, cluster_id)
        audit = build_audit(self._audit_config, config, environment, core)
        if audit is not None:
            audit.log.broker_id = broker_id
            await self._start(Part("audit", audit.log.start, lambda: self._in_thread(audit.log.stop)))
        guards = await self._in_thread(build_guards, config, environment, audit)
        await self._start_guards(guards)
        limits = await self._in_thread(connection_limits, config, self._addresses)
        sockets = build_sockets(config, environment, guards, limits)
        await self._start(Part("socket server", None, sockets.shutdown))
        broker_info = await self._register(zk_client, sockets)
        elected = partial(self._elected, guards.tokens)
        controller = build_controller(config, environment, broker_info, self._registered_anew, elected)
        self._hooks.built(BuiltBroker(core, sockets, controller))
        self._zk_client, self._metadata_cache, self._controller = zk_client, core.metadata_cache, controller
        producer_ids = ProducerIdManager(self._request_producer_ids, self._clock.monotonic_ms)
        handlers = build_handlers(
            config, environment, core, cluster_id, controller, producer_ids, dynamic_config, guards
        )
        for part in self._parts(
            environment, core, cluster_id, sockets, controller, producer_ids, handlers, dynamic_config, threads, guards
        ):
            await self._start(part)
        log.info("[KafkaServer id=%d] started", broker_id)

    async def _start_guards(self, guards: Guards) -> None:
        """Start the parts that read ACLs and delegation tokens from ZooKeeper."""
        for name, part in (("authorizer", guards.authorizer), ("delegation tokens", guards.tokens)):
            startup, shutdown = partial(self._in_thread, part.startup), partial(self._in_thread, part.shutdown)
            await self._start(Part(name, startup, shutdown))

    async def _build_core(self, environment: Environment, cluster_id: str) -> Core:
        """Recover the logs, write `meta.properties` to their directories, and build the parts that use the logs."""
        config = self.config
        log_manager = await self._in_thread(load_logs, config, environment.zk_client, self._clock)
        await self._start(Part("log manager", None, lambda: self._in_thread(log_manager.shutdown)))
        logs = log_manager.all_logs()
        open_files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        warn_of_open_files_limit(len(logs), sum(len(each.log_segments) for each in logs), open_files)
        await self._in_thread(
            broker_identity.write_meta_properties,
            log_manager.live_log_dirs,
            config.broker_id,
            cluster_id,
            log_manager.handle_log_dir_failure,
        )
        core = build_core(config, environment, log_manager)
        await self._start(Part("high watermarks", None, lambda: self._write_high_watermarks(core)))
        log_manager.dir_failure_listeners.append(
            lambda directory, names: self._clock.from_thread(
                self._log_dir_failed, directory, names, core, environment.zk_client
            )
        )
        log_manager.check_live()  # directories that failed before the listener was added
        return core

    async def _register(self, zk_client: KafkaZkClient, sockets: SocketServer) -> BrokerInfo:
        """Bind the listeners without accepting connections yet, and register their addresses in ZooKeeper."""
        for endpoint in self.config.listeners:
            address = await self._in_thread(bind_address, endpoint)
            sockets.listen(endpoint, self.config.socket_listen_backlog_size, address)
        broker_info = await self._in_thread(self._broker_info, sockets)
        await self._in_thread(broker_identity.check_end_points, zk_client, broker_info.broker)
        self._broker_epoch = await self._in_thread(zk_client.register_broker, broker_info)
        log.info(
            "Registered broker %d at %s",
            self.config.broker_id,
            ", ".join(e.connection_string for e in broker_info.broker.end_points),
        )
        return broker_info

    def _parts(
        self,
        environment: Environment,
        core: Core,
        cluster_id: str,
        sockets: SocketServer,
        controller: KafkaController,
        producer_ids: ProducerIdManager,
        handlers: Handlers,
        dynamic_config: DynamicBrokerConfig,
        threads: RequestThreads,
        guards: Guards,
    ) -> Iterator[Part]:
        """Yield the parts that start once the broker is registered, in order."""
        config, replication, coordinator, audit = self.config, core.replication, core.group_coordinator, guards.audit
        yield Part("plug-ins", None, guards.close)
        yield Part("periodic tasks", lambda: self._schedule_periodic_tasks(core, guards))
        yield Part("replication", replication.startup, replication.shutdown)
        yield Part("log dir moves", None, core.log_dir_moves.shutdown)

        async def start_coordinator() -> None:
            partitions = await self._in_thread(environment.zk_client.get_topic_partition_count, GROUP_METADATA_TOPIC)
            coordinator.startup(partitions)

        yield Part("group coordinator", start_coordinator, coordinator.shutdown)
        transactions = core.transactions

        async def start_transactions() -> None:
            partitions = await self._in_thread(environment.zk_client.get_topic_partition_count, TRANSACTION_STATE_TOPIC)
            transactions.startup(producer_ids, partitions)

        yield Part("transaction coordinator", start_transactions, transactions.shutdown)
        if metadata_version.is_feature_versioning_supported(config.inter_broker_protocol_version):
            yield Part("features", lambda: self._in_thread(handlers.features.startup))
        listener = self._config_listener(environment, core, sockets, controller, dynamic_config, threads, guards)
        yield Part(
            "config listener",
            lambda: self._in_thread(listener.startup),
            lambda: self._in_thread(listener.shutdown),
        )
        if self._metrics_config is not None:
            yield self._metrics(self._metrics_config, environment, core, cluster_id, controller, sockets, guards)

        def start_accepting() -> None:
            by_api = guards.audited(handlers.by_api(), environment.clock)
            apis = KafkaApis(by_api, environment.clock, LargeRequests(environment.records), guards.quotas)
            metadata_gate = MetadataGate(apis.handle, core.metadata_cache, bool(core.log_manager.all_logs()))
            sockets.start_accepting(self._hooks.handler(metadata_gate.handle))
            self._is_accepting = True

        yield Part("listeners", start_accepting, sockets.stop_listening)
        # It connects to this broker, so the listeners must accept first.
        yield Part(
            "controller",
            lambda: self._in_thread(controller.startup),
            lambda: self._in_thread(controller.shutdown),
        )
        if audit is not None:  # it may connect to this broker, too
            yield Part("audit's queue", None, lambda: self._in_thread(audit.log.flush, AUDIT_FLUSH_SECONDS))

    def _config_listener(
        self,
        environment: Environment,
        core: Core,
        sockets: SocketServer,
        controller: KafkaController,
        dynamic_config: DynamicBrokerConfig,
        threads: RequestThreads,
        guards: Guards,
    ) -> ZkConfigChangeListener:
        """Return the listener that applies dynamic configs from ZooKeeper, at its start and after each change (KIP-226)."""
        for part in (
            DynamicLogConfig(core.log_manager, controller),
            DynamicConnectionLimits(sockets, self._addresses),
            DynamicTls(guards.tls),
            DynamicListeners(
                self.config,
                sockets,
                self._addresses,
                self._in_thread,
                lambda: controller.update_broker_info(self._broker_info(sockets)),
                guards.check_listener,
                guards.listener_closed,
            ),
            DynamicThreadPools(self._reactor.suggestThreadPoolSize, threads.resize),
            DynamicCleanerConfig(core.log_manager, self._clock),
            DynamicFetchers(core.replication.fetchers),
        ):
            dynamic_config.add_reconfigurable(part)
        handlers = config_handlers(
            self.config,
            dynamic_config,
            core.log_manager.update_topic_config,
            controller.enable_topic_unclean_leader_election,
            core.replication.throttles,
            guards.config_handlers(),
        )

        def prepare(entity_type: str, entity: str, configs: Mapping[str, str]) -> None:
            self._addresses.look_up(configs)
            guards.quotas.look_up(entity_type, entity)

        return ZkConfigChangeListener(
            environment.zk_client, handlers, self._clock.from_thread, self._clock, prepare=prepare
        )

    def _metrics(
        self,
        metrics_config: MetricsConfig,
        environment: Environment,
        core: Core,
        cluster_id: str,
        controller: KafkaController,
        sockets: SocketServer,
        guards: Guards,
    ) -> Part:
        config, is_stopping, site = self.config, lambda: self._stopping, self._metrics_site
        assert site is not None
        metrics = build_metrics(
            metrics_config, config, environment, core, cluster_id, controller, sockets, guards, is_stopping, site
        )
        return Part("metrics", metrics.start, metrics.stop)

    async def _listen(self, setting: str, address: HttpAddress) -> HttpSite:
        """Serve health checks at `address`, from now on until every other part has stopped. Imports the HTTP server
        lazily.

        Raises `ListenError` if the address can't be bound: as with a listener for clients, the broker then doesn't
        start.
        """
        from kafkapy.network.http_site import HttpSite, health_pages

        site = HttpSite(self._reactor, health_pages(self.unready))
        await self._start(Part(f"listener of {setting}", lambda: site.listen(*address, setting), site.stop))
        log.info("Health is served at http://%s/healthz and /readyz", address._replace(port=site.port))
        return site

    def unready(self) -> str:
        """Return why the broker isn't ready; an empty string if it is registered and answers requests."""
        if self._stopping:
            return "the broker is stopping"
        cache, zk_client = self._metadata_cache, self._zk_client
        if not self._is_accepting or cache is None or zk_client is None:
            return "the broker is starting"
        if zk_client.session_state in ("EXPIRED", "CLOSED"):
            return "the ZooKeeper session is lost, so the broker is not registered"
        if cache.controller_id is None or not cache.has_alive_broker(self.config.broker_id):
            return "no controller has sent the broker the cluster's metadata yet"
        return ""

    async def _start(self, part: Part) -> None:
        if part.start is not None and inspect.isawaitable(started := part.start()):
            await started
        if part.stop is not None:
            self._started.append(part)

    async def _start_embedded_zookeeper(self) -> str:
        """Return its address, `host:port`; an empty string if `zookeeper.connect` names servers. Imports the server lazily."""
        connect = EmbeddedConnect.parse(self.config.zookeeper_connect, self.config.log_dirs[0])
        if connect is None:
            return ""
        from kafkapy.zk.embedded.server import EmbeddedZooKeeper
        from kafkapy.zk.embedded.settings import settings_inside_a_broker

        # Sessions of the last process ended with it. The server uses the machine's clock, as the client's heartbeats
        # do: a test may replace the broker's clock.
        settings = settings_inside_a_broker()
        zookeeper = EmbeddedZooKeeper(connect.data_dir, reactor=self._reactor, settings=settings, keep_sessions=False)
        await self._start(Part("embedded ZooKeeper", zookeeper.start, zookeeper.stop))
        self.embedded_zookeeper = zookeeper
        log.warning(
            "zookeeper.connect=%s: the broker runs its own ZooKeeper at %s, data in %s. One node is for development and tests; "
            "for production, start an ensemble and copy the tree into it (docs/embedded_zookeeper.md).",
            self.config.zookeeper_connect,
            zookeeper.address,
            connect.data_dir or "memory",
        )
        return zookeeper.address

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

    def _broker_info(self, sockets: SocketServer) -> BrokerInfo:
        """Return the registration for ZooKeeper: the advertised listeners, with the bound port where the configured
        one is 0."""
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

    def _registered_anew(self, broker_epoch: int) -> None:
        """Runs on the controller thread after a new ZooKeeper session has registered this broker under a new epoch."""
        log.info("Registered again after the ZooKeeper session had expired: broker epoch %d", broker_epoch)
        self._broker_epoch = broker_epoch

    def _elected(self, tokens: DelegationTokenManager) -> None:
        """Runs on the controller thread when this broker has become the controller."""
        if tokens.enabled:
            self._clock.from_thread(self._clock.schedule_in_thread, "expired-tokens", tokens.remove_expired)

    def _remove_expired_tokens(self, tokens: DelegationTokenManager) -> None:
        """Remove expired delegation tokens of the whole cluster, if this broker is the controller."""
        if self._controller is not None and self._controller.is_active:
            tokens.remove_expired()

    def _log_dir_failed(
        self, directory: str, partitions: list[TopicPartition], core: Core, zk_client: KafkaZkClient
    ) -> None:
        """Notify the controller through ZooKeeper, so that it moves the leaders; without any live directory the broker
        halts. Below inter.broker.protocol.version 1.0 it halts at the first failure: it couldn't distinguish a new
        replica from one in the failed directory.
        """
        core.replication.fetchers.remove(partitions)
        core.log_dir_moves.dir_failed(directory, partitions)
        core.replica_manager.mark_offline(partitions)
        log.error("%d partitions are offline because log directory %s has failed", len(partitions), directory)
        if metadata_version.does_leader_and_isr_mark_new_replicas(self.config.inter_broker_protocol_version):
            if core.log_manager.live_log_dirs:
                self._in_thread(zk_client.propagate_log_dir_event, self.config.broker_id)
                return
            log.critical("Shutdown broker because all log dirs in %s have failed", ", ".join(self.config.log_dirs))
        else:
            log.critical("Shutdown broker because log directory %s has failed", directory)
        logging.shutdown()
        # Halts, as Kafka does: an orderly stop would write checkpoints into directories that can't be written.
        os._exit(1)

    def _schedule_periodic_tasks(self, core: Core, guards: Guards) -> None:
        """Schedule the broker's own periodic tasks; they end when the clock is stopped."""
        interval_ms = self.config.replica_high_watermark_checkpoint_interval_ms
        self._clock.schedule(
            "highwatermark-checkpoint",
            lambda: self._clock.in_thread(core.high_watermarks.write, list(core.replica_manager.partitions())),
            interval_ms,
            interval_ms,
        )
        check = FullCollections().check
        self._clock.schedule("full-garbage-collection", check, CHECK_INTERVAL_MS, CHECK_INTERVAL_MS)
        self._clock.schedule("expired-quotas", guards.quotas.expire, EXPIRE_MS, EXPIRE_MS)
        self._clock.schedule_in_thread("tls-stores", guards.tls.refresh, CHECK_MS, CHECK_MS)
        if guards.tokens.enabled:
            interval_ms = self.config.delegation_token_expiry_check_interval_ms
            remove = partial(self._remove_expired_tokens, guards.tokens)
            self._clock.schedule_in_thread("expired-tokens", remove, interval_ms, interval_ms)

    def _write_high_watermarks(self, core: Core) -> Awaitable[None]:
        return self._in_thread(core.high_watermarks.write, list(core.replica_manager.partitions()))

    async def _request_producer_ids(self) -> Block:
        """Request a block from the controller, over the network even if it is this broker (KIP-730); from ZooKeeper
        below inter.broker.protocol.version 3.0."""
        if not metadata_version.is_allocate_producer_ids_supported(self.config.inter_broker_protocol_version):
            assert self._zk_client is not None
            block = await self._clock.in_thread(new_producer_ids_block, self.config.broker_id, self._zk_client)
            return block.first_producer_id, block.size
        request = AllocateProducerIdsRequest(broker_id=self.config.broker_id, broker_epoch=self._broker_epoch)
        response = await self._clock.in_thread(self._call_controller, request)
        error = Errors.for_code(response.error_code)
        if error is not Errors.NONE:
            raise KafkaError(error)
        return response.producer_id_start, response.producer_id_len

    def _call_controller(self, request: Message, version: int | None = None) -> Any:
        """Send one request to the active controller and wait. Blocks; `KafkaError` if there is none or it can't be reached.

        `version`: None for the highest that both support.
        """
        cache = self._metadata_cache
        assert cache is not None
        controller_id = cache.controller_id
        listener = self.config.control_plane_listener_name or self.config.inter_broker_listener_name
        node = None if controller_id is None else cache.alive_broker(controller_id, listener)
        if node is None:
            raise KafkaError(Errors.NOT_CONTROLLER, "no controller is known")
        client_config = inter_broker_client_config(
            self.config, f"broker-{self.config.broker_id}", self.config.controller_socket_timeout_ms, listener
        )
        with BlockingClient(node.host, node.port, client_config, negotiate=version is None) as client:
            return client.call(request, version)

    # ------------------------------------------------------------------------------------------------ stop

    async def shutdown(self) -> None:
        """Stop in order: move leaders away, close the listeners, flush the logs, close the ZooKeeper session."""
        if self._stopping:
            return
        self._stopping = True
        log.info("[KafkaServer id=%d] shutting down", self.config.broker_id)
        if self._metadata_cache is not None and self.config.controlled_shutdown_enable:
            await self._in_thread(self._controlled_shutdown)
        self._clock.shutdown()
        await self._stop_parts()
        log.info("[KafkaServer id=%d] shut down completed", self.config.broker_id)

    def _controlled_shutdown(self) -> None:
        """Ask the controller to move this broker's leaders away: at most `controlled.shutdown.max.retries` requests,
        `controlled.shutdown.retry.backoff.ms` apart. As in Kafka, the first request counts as a retry."""
        config = self.config
        version = metadata_version.controlled_shutdown_version(config.inter_broker_protocol_version)
        for attempt in range(1, config.controlled_shutdown_max_retries + 1):
            try:
                error, left = self._ask_for_shutdown(version)
                if error is Errors.NONE and not left:
                    log.info("Controlled shutdown request returned successfully")
                    return
                log.info("Controlled shutdown: %s, %d partitions left", error.name, left)
            except KafkaError as error:
                log.info("Controlled shutdown: %s", error)
            if attempt < config.controlled_shutdown_max_retries:
                self._clock.sleep(config.controlled_shutdown_retry_backoff_ms / 1000)
        log.warning("Proceeding to do an unclean shutdown as all the controlled shutdown attempts failed")

    def _ask_for_shutdown(self, version: int) -> tuple[Errors, int]:
        """Return the controller's error and the number of partitions that this broker still leads; `KafkaError`
        without a response.

        A controller in this process is called directly: with wrong advertised.listeners it could not be reached.
        """
        config, controller = self.config, self._controller
        if controller is not None and controller.is_active:
            answer: Future[set[TopicPartition] | KafkaError] = Future()
            controller.controlled_shutdown(config.broker_id, self._broker_epoch, answer.set_result)
            try:
                left = answer.result(config.controller_socket_timeout_ms / 1000)
            except TimeoutError:
                raise KafkaError(Errors.REQUEST_TIMED_OUT) from None
            return (left.error, 0) if isinstance(left, KafkaError) else (Errors.NONE, len(left))
        request = ControlledShutdownRequest(broker_id=config.broker_id, broker_epoch=self._broker_epoch)
        response = self._call_controller(request, version)
        return Errors.for_code(response.error_code), len(response.remaining_partitions)

    async def _stop_parts(self) -> None:
        while self._started:
            part = self._started.pop()
            assert part.stop is not None
            try:
                if inspect.isawaitable(stopped := part.stop()):
                    await stopped
            except Exception:
                log.exception("Error while stopping the %s", part.name)

    def _in_thread(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Deferred[R]:
        """For Twisted callbacks: start, stop, changes of listeners. All other code awaits `Clock.in_thread`."""
        return defer_to_pool(self._reactor, self._reactor.getThreadPool(), partial(function, *args, **kwargs))


def _dynamic_properties(
    zk_client: KafkaZkClient, dynamic_config: DynamicBrokerConfig
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the dynamic configs in ZooKeeper: (cluster defaults, this broker's). Re-encode passwords of the old
    secret there."""
    broker_id = dynamic_config.config.broker_id
    own = zk_client.get_entity_configs("brokers", str(broker_id))
    re_encoded = dynamic_config.re_encoded(own)
    if re_encoded is not None:
        # The first broker of a cluster to start finds no controller to check; 3.9.1 does not start then.
        change_entity_config(zk_client, "brokers", str(broker_id), re_encoded, check_controller=False)
    return zk_client.get_entity_configs("brokers", "<default>"), own if re_encoded is None else re_encoded
