"""Creates and connects the parts of a broker.

`KafkaServer`, the broker of the tests and the one of `benchmarks/hot_paths.py` all call `build_core` and
`build_handlers`, each with its own `Environment`. No part runs before it is started: `KafkaServer` starts them in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkapy.clients.driver import Driver
from kafkapy.clients.metadata import Address
from kafkapy.clients.twisted_driver import TwistedDriver
from kafkapy.common import metadata_version
from kafkapy.common.broker import EndPoint
from kafkapy.common.rate import Rate
from kafkapy.common.topic_names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from kafkapy.controller.controller_config import ControllerConfig
from kafkapy.controller.kafka_controller import KafkaController
from kafkapy.coordinator.group.config import GroupConfig, OffsetConfig
from kafkapy.coordinator.group.group_coordinator import GroupCoordinator
from kafkapy.coordinator.transaction.config import TransactionConfig
from kafkapy.coordinator.transaction.transaction_coordinator import TransactionCoordinator
from kafkapy.log.cleaning.log_cleaner import CleanerConfig, LogCleaner
from kafkapy.log.manager.log_manager import LogManager
from kafkapy.network.connection_quotas import ConnectionLimits
from kafkapy.network.memory_pool import MemoryPool
from kafkapy.network.socket_server import SocketServer
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.runtime.clock import Clock, InThread
from kafkapy.server.admin.auto_topic_creation import AutoTopicCreationManager
from kafkapy.server.admin.controller import Controller
from kafkapy.server.admin.zk_admin_manager import CreatableTopic, ZkAdminManager
from kafkapy.server.api_handlers import HANDLERS, Handlers
from kafkapy.server.authorizer import Authorizer
from kafkapy.server.config.dynamic_broker_config import DynamicBrokerConfig
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.config.load_policies import load_policies
from kafkapy.server.config.zk_entity_configs import USERS
from kafkapy.server.coordinators.coordinator_log import CoordinatorLog
from kafkapy.server.coordinators.elections import CoordinatorElections
from kafkapy.server.coordinators.late_transactions import LateTransactions
from kafkapy.server.coordinators.marker_channels import MarkerChannels
from kafkapy.server.coordinators.txn_markers import TxnMarkerWriter
from kafkapy.server.coordinators.txn_verifier import TxnVerifier
from kafkapy.server.fetch.fetch_session import FetchSessionCache
from kafkapy.server.handlers.acls import AclsHandler
from kafkapy.server.handlers.api_versions import answer_api_versions
from kafkapy.server.handlers.configs import ConfigsHandler
from kafkapy.server.handlers.control import ControlHandler
from kafkapy.server.handlers.controller_apis import ControllerApisHandler
from kafkapy.server.handlers.delegation_tokens import DelegationTokensHandler
from kafkapy.server.handlers.fetch import FetchHandler
from kafkapy.server.handlers.find_coordinator import FindCoordinatorHandler
from kafkapy.server.handlers.group_offsets import GroupOffsetsHandler
from kafkapy.server.handlers.groups import GroupsHandler
from kafkapy.server.handlers.list_offsets import OffsetsHandler
from kafkapy.server.handlers.log_dirs import LogDirsHandler
from kafkapy.server.handlers.metadata import MetadataHandler
from kafkapy.server.handlers.produce import ProduceHandler
from kafkapy.server.handlers.producer_ids import ProducerIdsHandler
from kafkapy.server.handlers.records import RecordsHandler
from kafkapy.server.handlers.topics import TopicsHandler
from kafkapy.server.handlers.transactions import TransactionsHandler
from kafkapy.server.inter_broker.broker_clients import BrokerClients
from kafkapy.server.inter_broker.client_config import controller_client_config, inter_broker_client_config
from kafkapy.server.inter_broker.producer_ids import ProducerIdManager
from kafkapy.server.metadata.finalized_features import FinalizedFeatureListener
from kafkapy.server.metadata.metadata_cache import MetadataCache
from kafkapy.server.policies import Policies
from kafkapy.server.purgatory.deadlines import Deadlines
from kafkapy.server.quotas.quota_managers import QuotaManagers
from kafkapy.server.reconfiguration.change_handlers import usable_topic_configs
from kafkapy.server.reconfiguration.change_listener import ConfigHandler
from kafkapy.server.replication.high_watermarks import HighWatermarkCheckpoints
from kafkapy.server.replication.leadership import Fetchers, Leadership, PartitionListener
from kafkapy.server.replication.log_threads import BackgroundAppends, flush_in
from kafkapy.server.replication.replica_alter_log_dirs import ReplicaAlterLogDirsManager
from kafkapy.server.replication.replica_manager import ReplicaManager
from kafkapy.server.replication.replica_selector import make_replica_selector
from kafkapy.server.replication.replication import (
    AnyAlterPartitionManager,
    Replication,
    make_alter_partition_manager,
    replication_quota,
)
from kafkapy.server.security.authorizer_factory import build_authorizer
from kafkapy.server.security.delegation_token_manager import DelegationTokenManager
from kafkapy.server.security.principal_builders import make_plaintext_principal
from kafkapy.server.security.sasl_listeners import SaslListeners
from kafkapy.server.security.scram_credentials import ScramCredentials
from kafkapy.server.security.tls_listeners import TlsListeners, make_tls_listener
from kafkapy.zk.kafka_zk_client import KafkaZkClient
from kafkapy.zk.token_store import ZkTokenStore
from kafkapy.zk.zk_data import BrokerInfo

if TYPE_CHECKING:
    from kafkapy.network.http_site import HttpSite
    from kafkapy.server.metrics.broker_metrics import BrokerMetrics
    from kafkapy.server.metrics.config import MetricsConfig
    from kafkapy.server.security.audit.audit import Audit
    from kafkapy.server.security.audit.audit_config import AuditConfig


class Environment(NamedTuple):
    """The resources that a broker uses: reactor, clock, threads, ZooKeeper. A test replaces them with its own."""

    reactor: Any
    """Twisted's reactor, for sockets and for connections to other brokers."""
    clock: Clock
    requests: InThread
    """Runs requests that wait for ZooKeeper in a pool of threads."""
    records: InThread
    """Runs slow work on records in a pool of threads: recompression, validation and conversion."""
    cold_reads: InThread
    """Runs cold reads in a pool of threads: they wait for the disk until data to be sent is in the page cache."""
    zk_client: KafkaZkClient
    broker_epoch: Callable[[], int]
    """Returns the epoch of this broker's latest registration; -1 before the first."""


class Guards(NamedTuple):
    """Authentication and authorization."""

    authorizer: Authorizer
    credentials: ScramCredentials
    quotas: QuotaManagers
    tls: TlsListeners
    sasl: SaslListeners
    policies: Policies
    audit: Audit | None
    features: FinalizedFeatureListener
    """ApiVersions responses contain the features, even before authentication."""
    tokens: DelegationTokenManager

    def audited(self, handlers: Mapping[ApiKey, Any], clock: Clock) -> Mapping[ApiKey, Any]:
        """Return the handlers; if the audit is on, those that change something are wrapped, so that they record it."""
        return handlers if self.audit is None else self.audit.of_changes(handlers, self.tokens.of_hmac, clock)

    def close(self) -> None:
        """Close the plug-ins and the audit; the broker stops."""
        self.quotas.close()
        self.policies.close()

    def check_listener(self, config: KafkaConfig, end_point: EndPoint) -> None:
        """Raises ConfigException if the listener could not be opened. Reads files."""
        make_tls_listener(config, end_point)
        self.sasl.check(config, end_point)

    def listener_closed(self, listener: str) -> None:
        self.tls.closed(listener)
        self.sasl.closed(listener)

    def config_handlers(self) -> dict[str, ConfigHandler]:
        """Return the handlers that apply changed configs of users, clients and IPs."""
        of_quotas = self.quotas.handlers()

        def users(entity: str, configs: dict[str, str]) -> None:
            self.credentials.apply(entity, configs)
            of_quotas[USERS](entity, configs)

        return {**of_quotas, USERS: users}


class TransactionParts(NamedTuple):
    """The parts for transactions: their coordinator, and the partition leaders' side of them."""

    coordinator: TransactionCoordinator
    channels: MarkerChannels
    writer: TxnMarkerWriter
    verifier: TxnVerifier
    late: LateTransactions

    def startup(self, producer_ids: ProducerIdManager, topic_partition_count: int | None) -> None:
        self.coordinator.startup(producer_ids.generate_when_ready, self.channels, topic_partition_count)
        self.late.startup()

    def shutdown(self) -> None:
        self.late.shutdown()
        self.coordinator.shutdown()
        self.channels.close()
        self.verifier.close()


class Core(NamedTuple):
    """The parts that manage partitions: logs, replication, leadership, and the coordinators on top of them."""

    log_manager: LogManager
    metadata_cache: MetadataCache
    replica_manager: ReplicaManager
    high_watermarks: HighWatermarkCheckpoints
    replication: Replication
    log_dir_moves: ReplicaAlterLogDirsManager
    group_coordinator: GroupCoordinator
    transactions: TransactionParts
    leadership: Leadership
    fetch_sessions: FetchSessionCache


def load_logs(config: KafkaConfig, zk_client: KafkaZkClient, clock: Clock) -> LogManager:
    """Load and recover the logs of all directories. Blocks."""
    stored = zk_client.get_entities_configs("topics", zk_client.get_all_entities_with_config("topics"))
    topic_configs = {topic: usable_topic_configs(config, topic, configs) for topic, configs in stored.items()}

    def make_cleaner(manager: LogManager) -> LogCleaner:
        logs, failed = manager.logs, manager.handle_log_dir_failure
        return LogCleaner(CleanerConfig.of(config), manager.live_log_dirs, logs, clock, failed)

    cleaner = make_cleaner if config.log_cleaner_enable else None
    log_manager = LogManager.from_config(config, topic_configs, clock, clock, cleaner)
    log_manager.startup()
    return log_manager


def build_core(
    config: KafkaConfig,
    environment: Environment,
    log_manager: LogManager,
    *,
    fetchers: Fetchers | None = None,
    listeners: Sequence[PartitionListener] = (),
) -> Core:
    """`fetchers`: None for those that replicate from other brokers. `listeners` are notified of role changes after the
    coordinators."""
    clock = environment.clock
    metadata_cache = MetadataCache(config.broker_id, clock)
    driver = TwistedDriver(environment.reactor, clock)
    replica_manager, alter_partitions = _replica_manager(config, environment, driver, log_manager, metadata_cache)
    replication = Replication(config, driver, clock, replica_manager, alter_partitions, environment.broker_epoch)
    group_coordinator = _group_coordinator(config, clock, replica_manager, metadata_cache)
    transactions = _transactions(config, clock, driver, replica_manager, metadata_cache, group_coordinator)
    high_watermarks = HighWatermarkCheckpoints(log_manager)
    log_dir_moves = ReplicaAlterLogDirsManager(
        replica_manager,
        high_watermarks,
        replication.throttles.alter_log_dirs,
        clock.in_thread,
        clock,
        config.effective_num_replica_alter_log_dirs_threads,
        config.replica_fetch_backoff_ms,
    )
    leadership = Leadership(
        replica_manager,
        high_watermarks,
        [
            CoordinatorElections(GROUP_METADATA_TOPIC, group_coordinator),
            CoordinatorElections(TRANSACTION_STATE_TOPIC, transactions.coordinator),
            *listeners,
        ],
        replication.fetchers if fetchers is None else fetchers,
        log_dir_moves,
        metadata_version.is_truncation_on_fetch_supported(config.inter_broker_protocol_version),
    )
    return Core(
        log_manager,
        metadata_cache,
        replica_manager,
        high_watermarks,
        replication,
        log_dir_moves,
        group_coordinator,
        transactions,
        leadership,
        FetchSessionCache(config.max_incremental_fetch_session_cache_slots, clock, replica_manager=replica_manager),
    )


def _replica_manager(
    config: KafkaConfig, environment: Environment, driver: Driver, log_manager: LogManager, cache: MetadataCache
) -> tuple[ReplicaManager, AnyAlterPartitionManager]:
    clock = environment.clock
    replica_manager: ReplicaManager
    alter_partitions = make_alter_partition_manager(
        config,
        driver,
        clock,
        cache,
        environment.zk_client,
        environment.broker_epoch,
        lambda: replica_manager.controller_epoch,
    )
    replica_manager = ReplicaManager(
        config.broker_id,
        log_manager,
        cache,
        clock,
        Deadlines(clock),
        alter_partitions.submit,
        environment.cold_reads,
        flush_in(clock.in_thread),
        producer_purge_interval=config.producer_purgatory_purge_interval_requests,
        fetch_purge_interval=config.fetch_purgatory_purge_interval_requests,
        delete_records_purge_interval=config.delete_records_purgatory_purge_interval_requests,
        replica_lag_time_max_ms=config.replica_lag_time_max_ms,
        replica_selector=make_replica_selector(config.replica_selector_class),
        leader_quota=replication_quota(config, clock),
    )
    return replica_manager, alter_partitions


def _group_coordinator(
    config: KafkaConfig, clock: Clock, replica_manager: ReplicaManager, metadata_cache: MetadataCache
) -> GroupCoordinator:
    coordinator_log = CoordinatorLog(replica_manager, metadata_cache, config.offsets_load_buffer_size)
    group_config = GroupConfig(
        min_session_timeout_ms=config.group_min_session_timeout_ms,
        max_session_timeout_ms=config.group_max_session_timeout_ms,
        max_size=config.group_max_size,
        initial_rebalance_delay_ms=config.group_initial_rebalance_delay_ms,
        offsets=OffsetConfig(
            max_metadata_size=config.offset_metadata_max_bytes,
            retention_ms=config.offsets_retention_minutes * 60_000,
            retention_check_interval_ms=config.offsets_retention_check_interval_ms,
            topic_num_partitions=config.offsets_topic_num_partitions,
            compression_codec=config.offsets_topic_compression_codec,
            commit_timeout_ms=config.offsets_commit_timeout_ms,
            inter_broker_protocol_version=config.inter_broker_protocol_version,
        ),
    )
    return GroupCoordinator(group_config, coordinator_log, clock)


def _transactions(
    config: KafkaConfig,
    clock: Clock,
    driver: Driver,
    replica_manager: ReplicaManager,
    cache: MetadataCache,
    groups: GroupCoordinator,
) -> TransactionParts:
    coordinator_log = CoordinatorLog(replica_manager, cache, config.transaction_state_log_load_buffer_size)
    transaction_config = TransactionConfig(
        transactional_id_expiration_ms=config.transactional_id_expiration_ms,
        max_timeout_ms=config.transaction_max_timeout_ms,
        topic_num_partitions=config.transaction_state_log_num_partitions,
        abort_timed_out_interval_ms=config.transaction_abort_timed_out_transaction_cleanup_interval_ms,
        remove_expired_interval_ms=config.transaction_remove_expired_transaction_cleanup_interval_ms,
        request_timeout_ms=config.request_timeout_ms,
    )
    coordinator = TransactionCoordinator(transaction_config, coordinator_log, clock)
    listener = config.inter_broker_listener_name

    def address_of(broker_id: int) -> Address | None:
        node = cache.alive_broker(broker_id, listener)
        return None if node is None else Address(node.host, node.port)

    def brokers(purpose: str) -> BrokerClients:
        client_id = f"broker-{config.broker_id}-{purpose}"
        client_config = inter_broker_client_config(config, client_id, config.request_timeout_ms)
        return BrokerClients(driver, client_config, address_of)

    writer = TxnMarkerWriter(replica_manager, coordinator_log, groups, clock, config.request_timeout_ms)
    channels = MarkerChannels(
        config.broker_id,
        listener,
        cache,
        writer,
        brokers("txn-marker-sender"),
        clock,
        metadata_version.write_txn_markers_version(config.inter_broker_protocol_version),
        coordinator.markers_written,
    )
    verifier = TxnVerifier(config, replica_manager, coordinator, cache, brokers("txn-verifier"))
    late = LateTransactions(replica_manager, clock, config.transaction_max_timeout_ms)
    return TransactionParts(coordinator, channels, writer, verifier, late)


def build_audit(
    audit_config: AuditConfig | None, config: KafkaConfig, environment: Environment, core: Core
) -> Audit | None:
    """Return the audit; None if it is off, and then no module that only the audit uses is imported."""
    if audit_config is None:
        return None
    from kafkapy.server.security.audit.audit_factory import build_audit

    cache = core.metadata_cache
    admin_manager = ZkAdminManager(config, environment.zk_client)

    def create_topic(name: str) -> None:
        brokers = {broker.id: broker.rack for broker in cache.alive_brokers()}
        (change,) = admin_manager.create_topics(
            [CreatableTopic(name=name, num_partitions=-1, replication_factor=-1)], brokers
        )
        if not change.succeeded and change.error.error is not Errors.TOPIC_ALREADY_EXISTS:
            raise KafkaError(change.error.error, change.error.message)

    return build_audit(audit_config, config, cache, environment.clock, create_topic)


def build_guards(config: KafkaConfig, environment: Environment, audit: Audit | None = None) -> Guards:
    """Create the guards. The authorizer must be started before the broker accepts connections.

    Blocks if the ACLs are in a separate ZooKeeper.

    Raises:
        ConfigException: `authorizer.class.name` or a config of the authorizer cannot be used.
    """
    if audit is None:
        authorizer = build_authorizer(config, environment.zk_client, environment.clock)
    else:
        authorizer = build_authorizer(
            config, environment.zk_client, environment.clock, audit.on_decision, audit.reports_allowed
        )
        audit.watch(authorizer)
    credentials = ScramCredentials()
    tokens = DelegationTokenManager.of_config(
        config, ZkTokenStore(environment.zk_client, environment.clock), environment.clock
    )
    features = FinalizedFeatureListener(
        environment.zk_client, lambda work: environment.clock.schedule_in_thread("features", work)
    )
    sasl = SaslListeners(
        config,
        credentials,
        lambda request, version: answer_api_versions(tuple(HANDLERS), features.epoch, request, version),
        environment.clock,
        tokens,
    )
    quotas = QuotaManagers.of_config(config, environment.clock)
    tls, policies = TlsListeners(config), load_policies(config)
    return Guards(authorizer, credentials, quotas, tls, sasl, policies, audit, features, tokens)


def build_sockets(
    config: KafkaConfig, environment: Environment, guards: Guards, limits: ConnectionLimits
) -> SocketServer:
    """Create the server of client connections, without opening any listener."""
    audit = guards.audit
    return SocketServer(
        environment.reactor,
        HANDLERS,
        config.socket_request_max_bytes,
        limits,
        environment.cold_reads,
        environment.records,
        config.inter_broker_listener_name,
        make_rate=lambda: Rate(config.quota_window_num, config.quota_window_size_seconds * 1000),
        send_buffer=config.socket_send_buffer_bytes,
        receive_buffer=config.socket_receive_buffer_bytes,
        memory_pool=MemoryPool(config.queued_max_request_bytes) if config.queued_max_request_bytes > 0 else None,
        tls_of=guards.tls.of,
        sasl_of=guards.sasl.of,
        sasl_max_receive_size=config.sasl_server_max_receive_size,
        ip_rates=guards.quotas.ips,
        failed_authentication_delay=config.connection_failed_authentication_delay_ms / 1000,
        plaintext_principal=make_plaintext_principal(config),
        **({} if audit is None else {"on_authentication": audit.on_authentication}),
    )


def build_controller(
    config: KafkaConfig,
    environment: Environment,
    broker_info: BrokerInfo,
    on_registered: Callable[[int], None],
    on_elected: Callable[[], None],
) -> KafkaController:
    """Create the controller, which takes part in elections once it is started.

    On its thread it calls `on_registered` with each broker epoch after the first, and `on_elected` when it is elected.
    """
    controller_config = ControllerConfig(
        broker_id=config.broker_id,
        inter_broker_listener_name=config.inter_broker_listener_name,
        inter_broker_protocol_version=config.inter_broker_protocol_version,
        control_plane_listener_name=config.control_plane_listener_name,
        delete_topic_enable=config.delete_topic_enable,
        unclean_leader_election_enable=config.unclean_leader_election_enable,
        auto_leader_rebalance_enable=config.auto_leader_rebalance_enable,
        leader_imbalance_check_interval_seconds=config.leader_imbalance_check_interval_seconds,
        leader_imbalance_per_broker_percentage=config.leader_imbalance_per_broker_percentage,
        client=controller_client_config(config),
    )
    return KafkaController(
        controller_config,
        environment.zk_client,
        broker_info,
        environment.broker_epoch(),
        environment.clock,
        on_broker_registered=on_registered,
        on_elected=on_elected,
    )


def build_handlers(
    config: KafkaConfig,
    environment: Environment,
    core: Core,
    cluster_id: str,
    controller: Controller,
    producer_ids: ProducerIdManager,
    dynamic_config: DynamicBrokerConfig,
    guards: Guards,
) -> Handlers:
    zk_client, in_thread = environment.zk_client, environment.requests
    replicas, cache = core.replica_manager, core.metadata_cache
    groups, transactions = core.group_coordinator, core.transactions
    authorizer = guards.authorizer
    admin_manager = ZkAdminManager(config, zk_client, guards.policies.create_topic)
    auto_topics = AutoTopicCreationManager(config, admin_manager, cache, in_thread, guards.quotas)
    return Handlers(
        produce=_produce_handler(environment, core, authorizer),
        fetch=FetchHandler(
            core.fetch_sessions,
            config,
            replicas,
            cache,
            authorizer,
            guards.quotas,
            environment.records,
            environment.clock,
        ),
        offsets=OffsetsHandler(replicas, authorizer, environment.cold_reads, environment.clock),
        metadata=MetadataHandler(cache, cluster_id, authorizer, config, auto_topics.create_topics, environment.clock),
        control=_control_handler(config, environment, core, guards),
        controller=ControllerApisHandler(authorizer, controller, environment.clock, cache),
        topics=_topics_handler(config, environment, core, controller, dynamic_config, guards, admin_manager),
        records=RecordsHandler(cache, replicas, authorizer, environment.clock),
        configs=ConfigsHandler(
            authorizer,
            cache,
            in_thread,
            zk_client,
            dynamic_config,
            controller,
            environment.clock,
            guards.policies.alter_config,
        ),
        log_dirs=LogDirsHandler(
            authorizer, core.log_dir_moves, core.log_manager, config, replicas, in_thread, environment.clock
        ),
        producer_ids=ProducerIdsHandler(authorizer, producer_ids, transactions.coordinator),
        find_coordinator=FindCoordinatorHandler(
            groups, transactions.coordinator, cache, auto_topics, authorizer, environment.clock
        ),
        groups=GroupsHandler(groups, authorizer, config, environment.clock),
        group_offsets=GroupOffsetsHandler(groups, cache, authorizer, config, zk_client, in_thread, environment.clock),
        transactions=_transactions_handler(core, authorizer, environment.clock),
        acls=AclsHandler(authorizer, in_thread),
        delegation_tokens=DelegationTokensHandler(guards.tokens, authorizer, in_thread, environment.clock),
        features=guards.features,
    )


def _control_handler(config: KafkaConfig, environment: Environment, core: Core, guards: Guards) -> ControlHandler:
    return ControlHandler(
        guards.authorizer,
        environment.broker_epoch,
        core.leadership,
        core.replica_manager,
        environment.requests,
        environment.zk_client,
        core.log_manager,
        config,
        core.replication.throttles,
        core.metadata_cache,
        environment.clock,
        guards.quotas.cluster_metadata_changed,
    )


def _produce_handler(environment: Environment, core: Core, authorizer: Authorizer) -> ProduceHandler:
    replicas = core.replica_manager
    return ProduceHandler(
        replicas,
        authorizer,
        core.metadata_cache,
        BackgroundAppends(replicas, environment.records),
        environment.clock,
        core.transactions.verifier,
    )


def _topics_handler(
    config: KafkaConfig,
    environment: Environment,
    core: Core,
    controller: Controller,
    dynamic_config: DynamicBrokerConfig,
    guards: Guards,
    admin_manager: ZkAdminManager,
) -> TopicsHandler:
    return TopicsHandler(
        controller,
        core.metadata_cache,
        environment.requests,
        admin_manager,
        guards.authorizer,
        dynamic_config,
        config,
        environment.clock,
        guards.quotas,
    )


def _transactions_handler(core: Core, authorizer: Authorizer, clock: Clock) -> TransactionsHandler:
    parts = core.transactions
    return TransactionsHandler(
        parts.coordinator,
        core.group_coordinator,
        parts.verifier,
        parts.writer,
        core.metadata_cache,
        authorizer,
        clock,
    )


def build_metrics(
    metrics_config: MetricsConfig,
    config: KafkaConfig,
    environment: Environment,
    core: Core,
    cluster_id: str,
    controller: KafkaController,
    sockets: SocketServer,
    guards: Guards,
    is_stopping: Callable[[], bool],
    site: HttpSite,
) -> BrokerMetrics:
    """Create the metrics; modules that only they use are imported here."""
    from kafkapy.server.metrics.broker_metrics import BrokerMetrics, end_offsets
    from kafkapy.server.metrics.sources import Sources, request_stats

    reactor = environment.reactor
    sources = Sources(
        cluster_id=cluster_id,
        broker_id=config.broker_id,
        time=environment.clock,
        zk_client=environment.zk_client,
        controller=controller,
        log_manager=core.log_manager,
        metadata_cache=core.metadata_cache,
        replica_manager=core.replica_manager,
        fetchers=core.replication.fetchers,
        fetch_sessions=core.fetch_sessions,
        group_coordinator=core.group_coordinator,
        transaction_coordinator=core.transactions.coordinator,
        marker_channels=core.transactions.channels,
        verifier=core.transactions.verifier,
        late_transactions=core.transactions.late,
        sockets=sockets,
        requests=request_stats(),
        end_offsets=end_offsets(config, reactor, environment.clock, core.replica_manager),
        is_stopping=is_stopping,
        meter=sockets.time_slice.meter,
        quotas=guards.quotas,
        audit=None if guards.audit is None else guards.audit.log,
    )
    return BrokerMetrics(metrics_config, sources, environment.clock, site)
