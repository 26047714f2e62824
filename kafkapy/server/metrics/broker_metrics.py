"""The metrics of one broker: gathers what they are read from, and serves them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.error import CannotListenError

from kafkapy.clients.metadata import Address
from kafkapy.clients.node_client import NodeClient
from kafkapy.clients.twisted_driver import TwistedDriver
from kafkapy.common import metadata_version
from kafkapy.common.prometheus_text import CONTENT_TYPE
from kafkapy.common.scheduler import Scheduler
from kafkapy.common.time import Time
from kafkapy.network.http_site import HttpSite, health_pages
from kafkapy.network.metrics_page import PATH, MetricsPage
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.inter_broker.client_config import inter_broker_client_config
from kafkapy.server.metrics.config import LISTENER, MetricsConfig
from kafkapy.server.metrics.end_offsets import SCRAPE_TIMEOUT_MS, EndOffsets
from kafkapy.server.metrics.exposition import pieces
from kafkapy.server.metrics.sources import TICK_MS, Sources
from kafkapy.server.metrics.table import METRICS
from kafkapy.server.replication.replica_manager import ReplicaManager

log = logging.getLogger("kafkapy.server.Metrics")


def end_offsets(config: KafkaConfig, reactor: Any, time: Time, replica_manager: ReplicaManager) -> EndOffsets:
    """Asks other brokers over connections of its own."""
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
    """From `start` to `stop`; on the reactor thread. Requests are measured exactly as long as the page is served."""

    def __init__(
        self, config: MetricsConfig, sources: Sources, reactor: Any, scheduler: Scheduler, unready: Callable[[], str]
    ) -> None:
        """`unready` says why the broker does not serve, or nothing."""
        self._config = config
        self._sources = sources
        self._scheduler = scheduler
        self._page = MetricsPage(reactor, CONTENT_TYPE, self._pieces)
        self._site = HttpSite(reactor, {PATH: self._page, **health_pages(unready)})

    def start(self) -> bool:
        """Before the first connection is accepted. False, and a line in the log, if the address can't be had."""
        address = self._config.address
        try:
            port = self._site.listen(*address)
        except CannotListenError as error:
            log.error(
                "Metrics are not served: %s=%s can't be bound (%s). The broker goes on without them; stop what uses the port, "
                "or choose another one, and start the broker again.", LISTENER, address, error.socketError,
            )  # fmt: skip
            return False
        self._sources.sockets.request_stats = self._sources.requests
        self._scheduler.schedule("metrics", self._sources.tick, TICK_MS, TICK_MS)
        log.info("Metrics are served at http://%s/%s", address._replace(port=port), PATH)
        return True

    async def stop(self) -> None:
        self._sources.end_offsets.close()
        self._page.stop()
        await self._site.stop()

    def _pieces(self) -> Iterator[Deferred[None] | bytes | None]:
        yield from self._sources.look(self._config.max_series)
        yield from pieces(METRICS, self._sources)
