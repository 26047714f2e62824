"""The dedicated mode's REST server, for other nodes of the same flows only (KIP-710; Kafka's `MirrorRestServer`)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, cast

from kafkapy.connect.rest.answers import error_answer
from kafkapy.connect.rest.completion import RequestCompletion
from kafkapy.connect.rest.other_resources import InternalResource
from kafkapy.connect.rest.rest_listeners import ConnectRestConfig, RestListeners
from kafkapy.connect.rest.rest_server import RestApi, answer_with
from kafkapy.connect.rest.routing import ConnectRouter
from kafkapy.connect.rest.worker_client import RestWorkerClient
from kafkapy.http.messages import HttpAnswer, HttpRequest
from kafkapy.mirror.replication_policy import SourceAndTarget

log = logging.getLogger("kafkapy.mirror")


class InternalMirrorApi:
    """Answers `/SOURCE/TARGET/connectors/NAME/tasks` and `…/fence` for each flow; requests must be signed (KIP-507).

    Invariant: a flow has one router, from `add` on.
    """

    def __init__(self) -> None:
        self._routers: dict[tuple[str, ...], ConnectRouter] = {}
        self._client = RestWorkerClient()

    def add(self, pair: SourceAndTarget, herder: Any) -> None:
        """Add a flow with its herder. Thread-safe."""
        resource = InternalResource(herder, RequestCompletion(herder, self._client))
        self._routers[tuple(pair)] = ConnectRouter(resource.routes())

    def handle(self, request: HttpRequest) -> HttpAnswer:
        """Answer a request; blocks."""
        router = self._routers.get(request.parts[:2])
        if router is None:
            flow = " -> ".join(request.parts[:2])
            return error_answer(404, f"There is no replication flow '{flow}' on this node")
        path = "/" + "/".join(request.path.strip("/").split("/")[2:])
        return answer_with(router, request._replace(path=path, parts=request.parts[2:]))

    handle_admin = handle


class InternalRestServer:
    """Listens from `start` to `stop`, during which the reactor runs."""

    def __init__(self, properties: Mapping[str, str], reactor: Any) -> None:
        """
        Args:
            properties: Configs of the dedicated mode: `listeners`, `rest.advertised.*`, `listeners.https.*`.
            reactor: Twisted's.

        Raises:
            ConfigException: One of them is invalid.
        """
        self._reactor = reactor
        self._api = InternalMirrorApi()
        own = {name: value for name, value in properties.items() if not name.startswith("admin.")}
        self._listeners = RestListeners(ConnectRestConfig.of(own), reactor)

    @property
    def url(self) -> str:
        """Return the URL for other nodes; valid after `start`."""
        return self._listeners.url

    def start(self) -> None:
        """Listen. Raises ConfigException."""
        from twisted.internet.threads import blockingCallFromThread

        blockingCallFromThread(self._reactor, self._listeners.bind)
        self._listeners.serve(cast(RestApi, self._api))  # it has what the listeners call
        log.info("The internal REST server listens; other nodes reach it by %s", self.url)

    def add(self, pair: SourceAndTarget, herder: Any) -> None:
        """Add a flow with its herder. Thread-safe."""
        self._api.add(pair, herder)

    def stop(self) -> None:
        """Close the listeners."""
        self._listeners.close()
