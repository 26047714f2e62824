"""Assembles the broker's replication: fetchers, ISR changes, throttles."""

from __future__ import annotations

from collections.abc import Callable

from kafkapy.clients.driver import Driver
from kafkapy.clients.metadata import Address
from kafkapy.clients.node_client import NodeClient
from kafkapy.common import metadata_version
from kafkapy.common.time import Time
from kafkapy.runtime.clock import Clock
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.inter_broker.client_config import inter_broker_client_config
from kafkapy.server.inter_broker.controller_channel import ControllerChannel
from kafkapy.server.metadata.metadata_cache import MetadataCache
from kafkapy.server.replication.alter_partition_manager import AlterPartitionManager, ZkAlterPartitionManager
from kafkapy.server.replication.follower_logs import FollowerLogs
from kafkapy.server.replication.replica_fetcher_manager import ReplicaFetcherManager
from kafkapy.server.replication.replica_manager import ReplicaManager
from kafkapy.server.replication.replication_quota import ReplicationQuota, ReplicationThrottles
from kafkapy.zk.kafka_zk_client import KafkaZkClient


def replication_quota(config: KafkaConfig, time: Time) -> ReplicationQuota:
    return ReplicationQuota(time, config.replication_quota_window_num, config.replication_quota_window_size_seconds)


AnyAlterPartitionManager = AlterPartitionManager | ZkAlterPartitionManager


def make_alter_partition_manager(
    config: KafkaConfig,
    driver: Driver,
    clock: Clock,
    cache: MetadataCache,
    zk_client: KafkaZkClient,
    broker_epoch: Callable[[], int],
    controller_epoch: Callable[[], int],
) -> AnyAlterPartitionManager:
    """Return the manager of ISR changes for the broker's inter.broker.protocol.version."""
    if not metadata_version.is_alter_partition_supported(config.inter_broker_protocol_version):
        return ZkAlterPartitionManager(zk_client, clock, clock, driver, controller_epoch)
    listener = config.control_plane_listener_name or config.inter_broker_listener_name
    client_config = inter_broker_client_config(
        config,
        f"broker-{config.broker_id}-alter-partition",
        config.controller_socket_timeout_ms,
        config.control_plane_listener_name,
    )
    client = NodeClient(driver, client_config, lambda: _address(cache, cache.controller_id, listener))
    channel = ControllerChannel(driver, client, lambda: cache.controller_id)
    return AlterPartitionManager(channel, driver, config.broker_id, broker_epoch)


class Replication:
    """The parts of replication; on the reactor thread."""

    def __init__(
        self,
        config: KafkaConfig,
        driver: Driver,
        clock: Clock,
        replica_manager: ReplicaManager,
        alter_partitions: AnyAlterPartitionManager,
        broker_epoch: Callable[[], int],
    ) -> None:
        self._config = config
        self._clock = clock
        self._replica_manager = replica_manager
        self._alter_partitions = alter_partitions
        self.throttles = ReplicationThrottles(
            replica_manager.leader_quota,
            replication_quota(config, clock),
            ReplicationQuota(
                clock,
                config.alter_log_dirs_replication_quota_window_num,
                config.alter_log_dirs_replication_quota_window_size_seconds,
            ),
        )
        self.fetchers = ReplicaFetcherManager(
            config,
            driver,
            FollowerLogs(replica_manager),
            self.throttles.follower,
            self._address_of,
            broker_epoch,
            clock,
        )

    def startup(self) -> None:
        """Start; to be called before the first LeaderAndIsr."""
        self._alter_partitions.startup()
        period_ms = max(1, self._config.replica_lag_time_max_ms // 2)
        self._clock.schedule("isr-expiration", self._replica_manager.maybe_shrink_isrs, period_ms, period_ms)

    def shutdown(self) -> None:
        self.fetchers.shutdown()
        self._alter_partitions.shutdown()

    def _address_of(self, broker_id: int) -> Address | None:
        return _address(self._replica_manager.metadata_cache, broker_id, self._config.inter_broker_listener_name)


def _address(cache: MetadataCache, broker_id: int | None, listener: str) -> Address | None:
    node = None if broker_id is None else cache.alive_broker(broker_id, listener)
    return None if node is None else Address(node.host, node.port)
