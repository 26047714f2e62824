"""A small web server for one page, which is made while requests are served."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from twisted.internet.defer import maybeDeferred
from twisted.internet.task import Cooperator
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Site

from kafkapy.network.socket_server import ALL_ADDRESSES

PATH = "metrics"
TIMEOUT_SECONDS = 60


class MetricsSite:
    """Serves `http://host:port/metrics` without logging each request.

    Invariant: at most one page is being made; who asks meanwhile waits for that one. One piece of it is made in each turn
    of the reactor.
    """

    def __init__(
        self,
        reactor: Any,
        content_type: str,
        prepare: Callable[[Callable[[], None]], None],
        pieces: Callable[[], Iterator[bytes]],
    ) -> None:
        """`prepare(ready)` calls `ready` when `pieces()` may be asked for the page."""
        self._reactor = reactor
        self._content_type = content_type
        self._prepare = prepare
        self._pieces = pieces
        self._waiting: list[Any] = []
        self._cooperator = Cooperator(lambda: lambda: True, lambda step: reactor.callLater(0, step))
        self._port: Any = None

    def listen(self, host: str, port: int) -> int:
        """The port it got. Raises `twisted.internet.error.CannotListenError`."""
        root: Any = Resource()
        root.putChild(PATH.encode(), _Page(self))
        root.putChild(b"", _Index())
        site: Any = _QuietSite(root, timeout=TIMEOUT_SECONDS, reactor=self._reactor)
        self._port = self._reactor.listenTCP(port, site, interface=host or ALL_ADDRESSES)
        bound: int = self._port.getHost().port
        return bound

    async def stop(self) -> None:
        self._cooperator.stop()
        self._answer(None)
        if self._port is not None:
            await maybeDeferred(self._port.stopListening)

    def ask(self, request: Any) -> None:
        self._waiting.append(request)
        request.notifyFinish().addBoth(lambda _: self._waiting.remove(request) if request in self._waiting else None)
        if len(self._waiting) == 1:
            self._prepare(self._make)

    def _make(self) -> None:
        parts: list[bytes] = []
        done: Any = self._cooperator.coiterate(map(parts.append, self._pieces()))
        done.addCallbacks(lambda _: self._answer(b"".join(parts)), lambda _: self._answer(None))

    def _answer(self, page: bytes | None) -> None:
        """None: there is none."""
        waiting, self._waiting = self._waiting, []
        for request in waiting:
            if page is None:
                request.setResponseCode(500)
            request.setHeader("content-type", self._content_type)
            request.setHeader("content-length", str(len(page or b"")))
            request.write(page or b"")
            request.finish()


class _QuietSite(Site):
    noisy = False

    def log(self, request: Any) -> None:
        """No access log."""


class _Page(Resource):
    def __init__(self, site: MetricsSite) -> None:
        super().__init__()
        self._site = site

    def render_GET(self, request: Any) -> Any:
        self._site.ask(request)
        return NOT_DONE_YET


class _Index(Resource):
    def render_GET(self, request: Any) -> bytes:
        return f"A Kafka broker. Its metrics are at /{PATH}\n".encode()
