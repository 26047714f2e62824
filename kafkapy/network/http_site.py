"""A small web server for monitoring: pages at fixed paths, no access log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from twisted.internet.defer import maybeDeferred
from twisted.internet.error import CannotListenError
from twisted.internet.task import deferLater
from twisted.web.resource import Resource
from twisted.web.server import Site

from kafkapy.common.bind_errors import cause_and_remedy, is_taken
from kafkapy.network.socket_server import ALL_ADDRESSES, ListenError

log = logging.getLogger("kafkapy.server.Metrics")

TIMEOUT_SECONDS = 60
"""An idle connection is closed after this (Twisted's default)."""
OK, SERVICE_UNAVAILABLE = 200, 503
LISTEN_ATTEMPTS = 20
RETRY_SECONDS = 0.5
"""Together 10 s, because a previous process that is shutting down may still have the port."""


class HttpSite:
    """A web server that listens from `listen` to `stop`."""

    def __init__(self, reactor: Any, pages: Mapping[str, Any], server: str = "A Kafka broker.") -> None:
        """`pages`: by path, without the slash. `server`: a sentence for the page at `/`."""
        self._reactor = reactor
        self._root: Any = Resource()
        self._paths: list[str] = []
        index: Any = Sentence(lambda: (OK, f"{server} It has {', '.join(f'/{path}' for path in self._paths)}"))
        self._root.putChild(b"", index)
        for path, page in pages.items():
            self.put(path, page)
        self._port: Any = None

    def put(self, path: str, page: Any) -> None:
        """Serve `page` at `path`."""
        self._paths.append(path)
        self._root.putChild(path.encode(), page)

    async def listen(self, host: str, port: int, setting: str) -> int:
        """Listen at the address and return its port.

        A port in use is tried `LISTEN_ATTEMPTS` times, `RETRY_SECONDS` apart: a previous process may be shutting down.

        Raises:
            ListenError: the port cannot be bound; the message names `setting`.
        """
        site: Any = _QuietSite(self._root, timeout=TIMEOUT_SECONDS, reactor=self._reactor)
        for attempts_left in reversed(range(LISTEN_ATTEMPTS)):
            try:
                self._port = self._reactor.listenTCP(port, site, interface=host or ALL_ADDRESSES)
                break
            except CannotListenError as error:
                problem = error.socketError
            if not attempts_left or not is_taken(problem):
                raise ListenError(f"{setting}={host}:{port} can't be bound: {cause_and_remedy(problem, setting)}.")
            if attempts_left == LISTEN_ATTEMPTS - 1:
                seconds = LISTEN_ATTEMPTS * RETRY_SECONDS
                log.warning("%s=%s:%d is taken. Trying again for %g s", setting, host, port, seconds)
            await deferLater(self._reactor, RETRY_SECONDS)
        self.port = int(self._port.getHost().port)
        return self.port

    async def stop(self) -> None:
        if self._port is not None:
            await maybeDeferred(self._port.stopListening)


class _QuietSite(Site):
    noisy = False

    def log(self, request: Any) -> None:
        """Write no access log."""


class Sentence(Resource):
    """A page of one line of text."""

    def __init__(self, said: Callable[[], tuple[int, str]]) -> None:
        """`said`: returns the HTTP status and the line."""
        super().__init__()
        self._said = said

    def render_GET(self, request: Any) -> bytes:
        status, line = self._said()
        request.setResponseCode(status)
        request.setHeader("content-type", "text/plain; charset=utf-8")
        return f"{line}\n".encode()


def health_pages(unready: Callable[[], str]) -> dict[str, Resource]:
    """Return the pages `/healthz` and `/readyz`.

    `/healthz` answers as long as the reactor runs. `/readyz` says whether the broker serves requests. `unready` returns
    the reason why it does not, or an empty string.
    """

    def readiness() -> tuple[int, str]:
        why = unready()
        return (SERVICE_UNAVAILABLE, why) if why else (OK, "ready")

    return {"healthz": Sentence(lambda: (OK, "alive")), "readyz": Sentence(readiness)}
