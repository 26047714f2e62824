"""The sources of the metrics, and their periodic update."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kafkapy.common.metrics import Share
from kafkapy.common.metrics_requests import RequestStatsByApi
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.runtime.completion import Completion
from kafkapy.server.metrics.page_snapshot import PageSnapshot, committed

if TYPE_CHECKING:
    from kafkapy.common.time import Time
    from kafkapy.controller.kafka_controller import KafkaController
    from kafkapy.coordinator.group.group import ClassicGroup
    from kafkapy.coordinator.group.group_coordinator import GroupCoordinator
    from kafkapy.coordinator.transaction.transaction_coordinator import TransactionCoordinator
    from kafkapy.log.manager.log_manager import LogManager
    from kafkapy.network.socket_server import SocketServer
    from kafkapy.runtime.stall_meter import StallMeter
    from kafkapy.server.coordinators.late_transactions import LateTransactions
    from kafkapy.server.coordinators.marker_channels import MarkerChannels
    from kafkapy.server.coordinators.txn_verifier import TxnVerifier
    from kafkapy.server.fetch.fetch_session import FetchSessionCache
    from kafkapy.server.metadata.metadata_cache import MetadataCache
    from kafkapy.server.metrics.end_offsets import EndOffsets
    from kafkapy.server.quotas.quota_managers import QuotaManagers
    from kafkapy.server.replication.replica_fetcher_manager import ReplicaFetcherManager
    from kafkapy.server.replication.replica_manager import ReplicaManager
    from kafkapy.server.security.audit.audit_log import AuditLog
    from kafkapy.zk.kafka_zk_client import KafkaZkClient

TICK_MS = 1000
"""Values are collected for one second and added together: `Histogram` keeps 16 to 32 of each (`KEPT_SAMPLES`)."""


def request_stats() -> RequestStatsByApi:
    return RequestStatsByApi(max(ApiKey), ApiKey.FETCH)


@dataclass
class Sources:
    """The broker's parts that the metrics read, on the reactor thread.

    State of the controller's thread is read without a lock: single numbers, and copies of its dictionaries.
    """

    cluster_id: str
    broker_id: int
    time: Time
    zk_client: KafkaZkClient
    controller: KafkaController
    log_manager: LogManager
    metadata_cache: MetadataCache
    replica_manager: ReplicaManager
    fetchers: ReplicaFetcherManager
    fetch_sessions: FetchSessionCache
    group_coordinator: GroupCoordinator
    transaction_coordinator: TransactionCoordinator
    marker_channels: MarkerChannels
    verifier: TxnVerifier
    late_transactions: LateTransactions
    sockets: SocketServer
    requests: RequestStatsByApi
    end_offsets: EndOffsets
    is_stopping: Callable[[], bool]
    meter: StallMeter
    """The reactor's meter."""
    idle: Share = field(init=False)
    snapshot: PageSnapshot = field(init=False)
    """The snapshot for the current page."""
    quotas: QuotaManagers | None = None
    audit: AuditLog | None = None

    def __post_init__(self) -> None:
        self.idle = Share(lambda: self.meter.idle_seconds)
        self.snapshot = PageSnapshot(0)

    def tick(self) -> None:
        """Add the requests' new values to the histograms; called every `TICK_MS`, which bounds the pending values."""
        self.requests.fold()
        self.idle.mark()

    # --- values that several metrics share

    def look(self, max_series: int) -> Iterator[Completion[None] | None]:
        """Collect the values that several metrics share; called before each page. None: continue after a yield; a
        completion: continue when it is done."""
        snapshot = PageSnapshot(max_series)
        yield from snapshot.of_partitions(list(self.replica_manager.partitions()))
        asking: dict[int, list[TopicPartition]] = {}
        yield from self.end_offsets.elsewhere(committed(self.groups()), asking)
        answered: Completion[None] = Completion()
        self.end_offsets.refresh(asking, lambda: answered.set_result(None))
        yield answered
        yield from snapshot.of_offsets(self.groups(), self.end_offsets.of)
        self.snapshot = snapshot

    def groups(self) -> list[ClassicGroup]:
        return list(self.group_coordinator.groups.values())
