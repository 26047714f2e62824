"""What a request handler may use: one object that names the broker's parts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThreadPool
from twisted.python.threadpool import ThreadPool

if TYPE_CHECKING:
    from kafkapy.common.scheduler import Scheduler
    from kafkapy.common.time import Time
    from kafkapy.controller.kafka_controller import KafkaController
    from kafkapy.coordinator.group.group_coordinator import GroupCoordinator
    from kafkapy.log.manager.log_manager import LogManager
    from kafkapy.server.admin.auto_topic_creation import AutoTopicCreationManager
    from kafkapy.server.admin.zk_admin_manager import ZkAdminManager
    from kafkapy.server.authorizer import Authorizer
    from kafkapy.server.config.dynamic_broker_config import DynamicBrokerConfig
    from kafkapy.server.config.kafka_config import KafkaConfig
    from kafkapy.server.fetch.fetch_session import FetchSessionCache
    from kafkapy.server.inter_broker.producer_ids import ProducerIdManager
    from kafkapy.server.metadata.finalized_features import FinalizedFeatureListener
    from kafkapy.server.metadata.metadata_cache import MetadataCache
    from kafkapy.server.replication.leadership import Leadership
    from kafkapy.server.replication.replica_alter_log_dirs import ReplicaAlterLogDirsManager
    from kafkapy.server.replication.replica_manager import ReplicaManager
    from kafkapy.server.replication.replication_quota import ReplicationThrottles
    from kafkapy.zk.kafka_zk_client import KafkaZkClient

P = ParamSpec("P")
R = TypeVar("R")


@dataclass
class BrokerServices:
    """The broker as the handlers see it. All of it lives on the reactor thread, except what `in_thread` is given."""

    reactor: Any
    request_threads: ThreadPool
    config: KafkaConfig
    time: Time
    scheduler: Scheduler
    broker_id: int
    cluster_id: str
    log_manager: LogManager
    replica_manager: ReplicaManager
    leadership: Leadership
    metadata_cache: MetadataCache
    fetch_sessions: FetchSessionCache
    group_coordinator: GroupCoordinator
    controller: KafkaController
    zk_client: KafkaZkClient
    admin_manager: ZkAdminManager
    auto_topic_creation: AutoTopicCreationManager
    dynamic_config: DynamicBrokerConfig
    producer_ids: ProducerIdManager
    authorizer: Authorizer
    broker_epoch: Callable[[], int]
    finalized_features: FinalizedFeatureListener
    log_dir_moves: ReplicaAlterLogDirsManager
    throttles: ReplicationThrottles

    def in_thread(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> Awaitable[R]:
        """Run what blocks (mostly on ZooKeeper) in `request_threads`; the result (or exception) comes back on the reactor."""
        result: Deferred[R] = deferToThreadPool(self.reactor, self.request_threads, function, *args, **kwargs)
        return result

    def controller_call(self, function: Callable[..., object], *args: object) -> Awaitable[Any]:
        """Call `function(*args, callback)`; the one argument of the callback (from any thread) comes back on the reactor."""
        result: Deferred[Any] = Deferred()

        def callback(answer: object) -> None:
            self.reactor.callFromThread(result.callback, answer)

        function(*args, callback)
        return result
