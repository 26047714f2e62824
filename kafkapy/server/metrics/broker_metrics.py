"""The metrics of one broker: collects their sources, and serves the page."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from kafkapy.clients.metadata import Address
from kafkapy.clients.node_client import NodeClient
from kafkapy.clients.twisted_driver import TwistedDriver
from kafkapy.common import metadata_version
from kafkapy.common.prometheus_text import CONTENT_TYPE
from kafkapy.common.time import Time
from kafkapy.network.http_site import HttpSite
from kafkapy.network.metrics_page import PATH, MetricsPage
from kafkapy.runtime.clock import Clock
from kafkapy.runtime.completion import Completion
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.inter_broker.client_config import inter_broker_client_config
from kafkapy.server.metrics.config import MetricsConfig
from kafkapy.server.metrics.end_offsets import SCRAPE_TIMEOUT_MS, EndOffsets
from kafkapy.server.metrics.exposition import pieces
from kafkapy.server.metrics.sources import TICK_MS, Sources
from kafkapy.server.metrics.table import METRICS
from kafkapy.server.replication.replica_manager import ReplicaManager

log = logging.getLogger("kafkapy.server.Metrics")


def end_offsets(config: KafkaConfig, reactor: Any, time: Time, replica_manager: ReplicaManager) -> EndOffsets:
    """Return an `EndOffsets`, which uses connections of its own to other brokers."""
    driver, cache = TwistedDriver(reactor, time), replica_manager.metadata_cache

    def new_client(broker_id: int) -> NodeClient:
        def address() -> Address | None:
            node = cache.alive_broker(broker_id, config.inter_broker_listener_name)
            return None if node is None else Address(node.host, node.port)

        client_config = inter_broker_client_config(config, f"broker-{config.broker_id}-metrics", SCRAPE_TIMEOUT_MS)
        return NodeClient(driver, client_config, address)

    version = metadata_version.list_offsets_version(config.inter_broker_protocol_version)
    return EndOffsets(replica_manager, cache, new_client, version)


class BrokerMetrics:
    """Serves the metrics page from `start` to `stop`, on a site that already listens; on the reactor thread. Requests
    are measured only while the page is served."""

    def __init__(self, config: MetricsConfig, sources: Sources, clock: Clock, site: HttpSite) -> None:
        self._config = config
        self._sources = sources
        self._clock = clock
        self._page = MetricsPage(clock, CONTENT_TYPE, self._pieces)
        self._site = site

    def start(self) -> None:
        """Start; to be called before the first connection is accepted."""
        self._sources.sockets.request_stats = self._sources.requests
        self._clock.schedule("metrics", self._sources.tick, TICK_MS, TICK_MS)
        self._site.put(PATH, self._page)
        log.info("Metrics are served at http://%s/%s", self._config.address._replace(port=self._site.port), PATH)

    def stop(self) -> None:
        self._sources.end_offsets.close()
        self._page.stop()

    def _pieces(self) -> Iterator[Completion[None] | bytes | None]:
        yield from self._sources.look(self._config.max_series)
        yield from pieces(METRICS, self._sources)
