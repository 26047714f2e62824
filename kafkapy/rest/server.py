"""The server process: the reactor receives requests and produces; consumers, administration and registry run on
threads."""

from __future__ import annotations

import logging
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall
from twisted.internet.threads import blockingCallFromThread, deferToThreadPool
from twisted.python.threadpool import ThreadPool

from kafkapy.http.messages import HttpAnswer, HttpRequest
from kafkapy.http.serving import listen
from kafkapy.rest.config import RestConfig
from kafkapy.rest.consumer_instances import ConsumerInstances
from kafkapy.rest.consuming import Consuming
from kafkapy.rest.context import PendingBytes, RestContext
from kafkapy.rest.embedded import EmbeddedValues
from kafkapy.rest.events import Events
from kafkapy.rest.producing import Producing
from kafkapy.rest.routing import JSON, RestRouter
from kafkapy.rest.v2_metadata import V2Metadata
from kafkapy.rest.v3_cluster import V3Cluster
from kafkapy.rest.v3_records import V3Records

log = logging.getLogger("kafkapy.rest")

_DROP_IDLE_S = 1.0


class RestServer:
    failure: BaseException | None = None

    def __init__(self, config: RestConfig, reactor: Any) -> None:
        from kafkapy.schemas.registry_client import SchemaRegistryClient

        self._config = config
        self._reactor = reactor
        self._pool = ThreadPool(0, config.threads, "requests")
        self._instances = ConsumerInstances(self._consumer, config.instance_timeout_ms / 1000, config.max_instances)
        self._values = None if config.registry is None else EmbeddedValues(SchemaRegistryClient(**config.registry))
        self._producer: Any = None
        self._admin: Any = None
        self._router: RestRouter | None = None
        self._sweep: LoopingCall | None = None
        self.ports: list[Any] = []

    def _consumer(self, **options: Any) -> Any:
        from kafkapy import KafkaConsumer

        return KafkaConsumer(**{**self._config.clients, **options})

    def start(self) -> None:
        """Connect to the cluster. Blocks: not for the reactor's thread. Raises KafkaError."""
        from kafkapy import KafkaAdminClient

        self._admin = KafkaAdminClient(**self._config.clients)
        self._cluster_id = str(self._admin.describe_cluster()["cluster_id"])
        blockingCallFromThread(self._reactor, self._start_producer)

    def _start_producer(self) -> Deferred[Any]:
        from kafkapy.tx import KafkaProducer

        options = {**self._config.clients, **self._config.producer}
        self._producer = KafkaProducer(self._reactor, acks="all", **options)
        started: Deferred[Any] = self._producer.start()
        return started

    def open(self) -> None:
        """Accept requests; on the reactor's thread. Raises ConfigException."""
        self._pool.start()
        pending = PendingBytes(self._config.max_pending_bytes)
        context = RestContext(self._producer, self._admin, self._blocking, pending, self._values)
        context.cluster_id = self._cluster_id
        cluster = V3Cluster(context, self._base_url)
        self._router = RestRouter(
            [
                *Events(context).routes(),
                *Producing(context).routes(),
                *V2Metadata(context).routes(),
                *Consuming(context, self._instances, self._base_url).routes(),
                *cluster.routes(),
                *V3Records(context, cluster).routes(),
            ]
        )
        self.ports = listen(self._reactor, self._config.http, self._handle, JSON)
        self._sweep = LoopingCall(lambda: self._blocking(self._instances.drop_idle))
        self._sweep.clock = self._reactor
        self._sweep.start(_DROP_IDLE_S, now=False)
        for each, port in zip(self._config.http.listeners, self.ports, strict=True):
            log.info("Listening on %s", each._replace(port=port.getHost().port))

    def _blocking(self, f: Any, *arguments: Any) -> Deferred[Any]:
        return deferToThreadPool(self._reactor, self._pool, f, *arguments)

    def _handle(self, request: HttpRequest) -> HttpAnswer | Deferred[HttpAnswer]:
        assert self._router is not None
        return self._router.handle(request)

    def _base_url(self, request: HttpRequest) -> str:
        """Return the proxy's base URL for clients: the configured one, else that of the request."""
        if self._config.base_url is not None:
            return self._config.base_url.rstrip("/")
        listener = self._config.http.listeners[0]
        return f"{listener.scheme}://{request.headers.get('host') or f'localhost:{listener.port}'}"

    def stop(self) -> None:
        """Stop everything. Blocks: not for the reactor's thread."""
        if self._sweep is not None and self._sweep.running:
            self._reactor.callFromThread(self._sweep.stop)
        self._instances.close()
        if self._producer is not None:
            blockingCallFromThread(self._reactor, self._producer.stop)
        if self._admin is not None:
            self._admin.close()
        self._pool.stop()
