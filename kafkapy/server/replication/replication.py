"""The parts of a broker that replicate, put together: fetchers, ISR changes, throttles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkapy.clients.metadata import Address
from kafkapy.clients.node_client import NodeClient
from kafkapy.clients.twisted_driver import TwistedDriver
from kafkapy.common import metadata_version
from kafkapy.common.scheduler import Scheduler
from kafkapy.common.time import Time
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.inter_broker.client_config import inter_broker_client_config
from kafkapy.server.inter_broker.controller_channel import ControllerChannel
from kafkapy.server.replication.alter_partition_manager import AlterPartitionManager, ZkAlterPartitionManager
from kafkapy.server.replication.follower_logs import FollowerLogs
from kafkapy.server.replication.replica_fetcher_manager import ReplicaFetcherManager
from kafkapy.server.replication.replica_manager import ReplicaManager
from kafkapy.server.replication.replication_quota import ReplicationQuota, ReplicationThrottles
from kafkapy.zk.kafka_zk_client import KafkaZkClient


def replication_quota(config: KafkaConfig, time: Time) -> ReplicationQuota:
    return ReplicationQuota(time, config.replication_quota_window_num, config.replication_quota_window_size_seconds)


class Replication:
    """Lives on the reactor thread."""

    def __init__(
        self,
        config: KafkaConfig,
        reactor: Any,
        time: Time,
        scheduler: Scheduler,
        replica_manager: ReplicaManager,
        zk_client: KafkaZkClient,
        broker_epoch: Callable[[], int],
    ) -> None:
        self._config = config
        self._time = time
        self._scheduler = scheduler
        self._replica_manager = replica_manager
        self._zk_client = zk_client
        self._broker_epoch = broker_epoch
        self._driver = TwistedDriver(reactor, time)
        self.throttles = ReplicationThrottles(
            replica_manager.leader_quota,
            replication_quota(config, time),
            ReplicationQuota(
                time,
                config.alter_log_dirs_replication_quota_window_num,
                config.alter_log_dirs_replication_quota_window_size_seconds,
            ),
        )
        self.fetchers = ReplicaFetcherManager(
            config,
            self._driver,
            FollowerLogs(replica_manager),
            self.throttles.follower,
            self._address_of,
            broker_epoch,
        )
        self._channel: ControllerChannel | None = None

    def startup(self) -> None:
        """Before the first LeaderAndIsr."""
        config = self._config
        if metadata_version.is_alter_partition_supported(config.inter_broker_protocol_version):
            client_config = inter_broker_client_config(
                config,
                f"broker-{config.broker_id}-alter-partition",
                config.controller_socket_timeout_ms,
                config.control_plane_listener_name,
            )
            client = NodeClient(self._driver, client_config, self._controller_address)
            cache = self._replica_manager.metadata_cache
            self._channel = ControllerChannel(self._driver, client, lambda: cache.controller_id)
            manager = AlterPartitionManager(self._channel, self._driver, config.broker_id, self._broker_epoch)
            self._replica_manager.submit_alter_partition = manager.submit
        else:
            in_zookeeper = ZkAlterPartitionManager(
                self._zk_client,
                self._scheduler,
                self._time,
                self._driver,
                lambda: self._replica_manager.controller_epoch,
            )
            in_zookeeper.startup()
            self._replica_manager.submit_alter_partition = in_zookeeper.submit
        period_ms = max(1, config.replica_lag_time_max_ms // 2)
        self._scheduler.schedule("isr-expiration", self._replica_manager.maybe_shrink_isrs, period_ms, period_ms)

    def shutdown(self) -> None:
        self.fetchers.shutdown()
        if self._channel is not None:
            self._channel.close()

    def _address_of(self, broker_id: int) -> Address | None:
        cache = self._replica_manager.metadata_cache
        node = cache.alive_broker(broker_id, self._config.inter_broker_listener_name)
        return None if node is None else Address(node.host, node.port)

    def _controller_address(self) -> Address | None:
        cache = self._replica_manager.metadata_cache
        controller_id = cache.controller_id
        listener = self._config.control_plane_listener_name or self._config.inter_broker_listener_name
        node = None if controller_id is None else cache.alive_broker(controller_id, listener)
        return None if node is None else Address(node.host, node.port)
