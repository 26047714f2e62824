"""The page of metrics, which is made while requests are served."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Cooperator
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET

PATH = "metrics"
_GZIP = 31
"""Of zlib's `wbits`: with the head and the tail of a gzip file."""


class MetricsPage(Resource):
    """Plain, or as gzip for those who accept it.

    Invariant: at most one page is being made; who asks meanwhile waits for that one. Its pieces are made in turns
    of the reactor.
    """

    def __init__(
        self, reactor: Any, content_type: str, pieces: Callable[[], Iterator[Deferred[None] | bytes | None]]
    ) -> None:
        """`pieces`: of a new page. None: the next piece takes another turn; a Deferred: and comes after that."""
        super().__init__()
        self._content_type = content_type
        self._pieces = pieces
        self._waiting: list[Any] = []
        self._cooperator = Cooperator(lambda: lambda: True, lambda step: reactor.callLater(0, step))

    def stop(self) -> None:
        self._cooperator.stop()
        self._answer(None, None)

    def render_GET(self, request: Any) -> Any:
        self._waiting.append(request)
        request.notifyFinish().addBoth(lambda _: self._waiting.remove(request) if request in self._waiting else None)
        if len(self._waiting) == 1:
            plain: list[bytes] = []
            zipped: list[bytes] = []
            done: Any = self._cooperator.coiterate(self._make(plain, zipped))
            done.addCallbacks(lambda _: self._answer(plain, zipped), lambda _: self._answer(None, None))
        return NOT_DONE_YET

    def _make(self, plain: list[bytes], zipped: list[bytes]) -> Iterator[Deferred[None] | None]:
        for piece in self._pieces():
            if isinstance(piece, bytes):
                plain.append(piece)
            yield piece if isinstance(piece, Deferred) else None
        if not any(map(_accepts_gzip, self._waiting)):
            return
        compressor = zlib.compressobj(1, wbits=_GZIP)
        for piece in plain:
            zipped.append(compressor.compress(piece))
            yield None
        zipped.append(compressor.flush())

    def _answer(self, plain: list[bytes] | None, zipped: list[bytes] | None) -> None:
        """None: there is no page."""
        waiting, self._waiting = self._waiting, []
        for request in waiting:
            body = zipped if zipped and _accepts_gzip(request) else plain
            if body is None:
                request.setResponseCode(500)
            elif body is zipped:
                request.setHeader("content-encoding", "gzip")
            request.setHeader("content-type", self._content_type)
            request.setHeader("vary", "accept-encoding")
            request.setHeader("content-length", str(sum(map(len, body or ()))))
            for part in body or ():
                request.write(part)
            request.finish()


def _accepts_gzip(request: Any) -> bool:
    accepted = (request.getHeader("accept-encoding") or "").lower().replace(" ", "").split(",")
    return any(coding in accepted for coding in ("gzip", "gzip;q=1", "gzip;q=1.0", "*"))
