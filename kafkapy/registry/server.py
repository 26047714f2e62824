"""The server process: Twisted's reactor receives requests, threads handle them; topic and election have separate
threads."""

from __future__ import annotations

import logging
import ssl
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThreadPool
from twisted.python.threadpool import ThreadPool

from kafkapy.clients.config import ClientConfig
from kafkapy.clients.thread_driver import ThreadDriver
from kafkapy.http.messages import HttpAnswer, HttpRequest
from kafkapy.http.serving import listen
from kafkapy.registry.api import RegistryApi, ServerIdentity
from kafkapy.registry.config import RegistryConfig
from kafkapy.registry.election import Election, InstanceIdentity
from kafkapy.registry.first_election import FirstElection
from kafkapy.registry.forwarding import Forwarding
from kafkapy.registry.schema_topic import SchemaTopic
from kafkapy.registry.service import CONTENT_TYPE, RegistryService
from kafkapy.registry.state import RegistryState
from kafkapy.version import __version__

log = logging.getLogger("kafkapy.registry")

_FIRST_ELECTION_S = 10.0
"""The coordinator delays the first rebalance of a new group by 3 s, and members of an existing one rejoin within 3
s."""


class RegistryServer:
    failure: BaseException | None = None

    def __init__(self, config: RegistryConfig, reactor: Any) -> None:
        self._config = config
        self._reactor = reactor
        self._api = RegistryApi(RegistryState(), config.level, config.mode_mutability)
        tls = ssl.create_default_context(cafile=config.inter_instance_cafile) if config.scheme == "https" else None
        self.service = RegistryService(self._api, Forwarding(tls=tls).send)
        self._topic = SchemaTopic(
            config.clients, config.topic, self.service.apply, config.replication_factor, config.timeout_ms
        )
        self._pool = ThreadPool(0, config.threads, "requests")
        self._driver = ThreadDriver("registry-election")
        self._election: Election | None = None
        self._first_election: FirstElection | None = None
        self.ports: list[Any] = []

    def start(self) -> None:
        """Read the topic. Blocks: not for the reactor's thread. Raises SchemaTopicError, KafkaError,
        RegistryRefusal."""
        cluster_id = self._topic.start(self._config.init_timeout_ms / 1000)
        self.service.use(self._topic)
        self._api.identity = ServerIdentity(cluster_id, self._config.group_id, __version__)

    def open(self) -> None:
        """Accept requests, and join the election; on the reactor's thread. Raises ConfigException."""
        self._pool.start()
        self._first_election = FirstElection(self._reactor, _FIRST_ELECTION_S)
        self.ports = listen(self._reactor, self._config.http, self._handle, CONTENT_TYPE)
        bound = [port.getHost().port for port in self.ports]
        listener = next(i for i, each in enumerate(self._config.http.listeners) if each.scheme == self._config.scheme)
        me = InstanceIdentity(self._config.host_name, bound[listener], self._config.eligible, self._config.scheme)
        config = ClientConfig(**self._config.clients)
        self._driver.start()
        self._election = self._driver.call(
            Election, self._driver, config, self._config.group_id, me, lambda primary: self._elected(primary, me)
        )
        self._driver.call(self._election.run)
        for each, port in zip(self._config.http.listeners, bound, strict=True):
            log.info("Listening on %s", each._replace(port=port))

    def _elected(self, primary: InstanceIdentity | None, me: InstanceIdentity) -> None:
        """Receive the result of an election, on the driver's thread."""
        self.service.elected(primary, me)
        if self._first_election is not None:
            self._reactor.callFromThread(self._first_election.end)

    def _handle(self, request: HttpRequest) -> Deferred[HttpAnswer]:
        def answer() -> Deferred[HttpAnswer]:
            return deferToThreadPool(self._reactor, self._pool, self.service.handle, request)

        if self._first_election is not None and self.service.is_write(request):
            return self._first_election.then(answer)
        return answer()

    def stop(self) -> None:
        """Stop everything. Blocks: not for the reactor's thread."""
        if self._election is not None:
            try:
                self._driver.call(self._election.stop, timeout_ms=10_000)
            except Exception as error:
                log.warning("Leaving the group failed: %s", error)
            self._driver.stop()
        if self._first_election is not None:
            self._reactor.callFromThread(self._first_election.end)
        self._topic.stop()
        self._pool.stop()
