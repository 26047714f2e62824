"""A small web server for an operator's tools: pages at fixed paths, without a log of each request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from twisted.internet.defer import maybeDeferred
from twisted.web.resource import Resource
from twisted.web.server import Site

from kafkapy.network.socket_server import ALL_ADDRESSES

TIMEOUT_SECONDS = 60
OK, SERVICE_UNAVAILABLE = 200, 503


class HttpSite:
    """Listens from `listen` to `stop`."""

    def __init__(self, reactor: Any, pages: Mapping[str, Any]) -> None:
        """`pages` by path, without the slash."""
        self._reactor = reactor
        self._root: Any = Resource()
        index: Any = Sentence(lambda: (OK, f"A Kafka broker. It has {', '.join(f'/{p}' for p in pages)}"))
        self._root.putChild(b"", index)
        for path, page in pages.items():
            self._root.putChild(path.encode(), page)
        self._port: Any = None

    def listen(self, host: str, port: int) -> int:
        """The port it got. Raises `twisted.internet.error.CannotListenError`."""
        site: Any = _QuietSite(self._root, timeout=TIMEOUT_SECONDS, reactor=self._reactor)
        self._port = self._reactor.listenTCP(port, site, interface=host or ALL_ADDRESSES)
        bound: int = self._port.getHost().port
        return bound

    async def stop(self) -> None:
        if self._port is not None:
            await maybeDeferred(self._port.stopListening)


class _QuietSite(Site):
    noisy = False

    def log(self, request: Any) -> None:
        """No access log."""


class Sentence(Resource):
    """A page of one line."""

    def __init__(self, said: Callable[[], tuple[int, str]]) -> None:
        """`said`: HTTP status and line."""
        super().__init__()
        self._said = said

    def render_GET(self, request: Any) -> bytes:
        status, line = self._said()
        request.setResponseCode(status)
        request.setHeader("content-type", "text/plain; charset=utf-8")
        return f"{line}\n".encode()


def health_pages(unready: Callable[[], str]) -> dict[str, Resource]:
    """`/healthz`: the process lives and its reactor turns, or there is no answer. `/readyz`: it serves; `unready` says why not,
    or nothing."""

    def readiness() -> tuple[int, str]:
        why = unready()
        return (SERVICE_UNAVAILABLE, why) if why else (OK, "ready")

    return {"healthz": Sentence(lambda: (OK, "alive")), "readyz": Sentence(readiness)}
