"""The metrics page, which is generated while requests are served."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any

from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET

from kafkapy.runtime.clock import Clock
from kafkapy.runtime.completion import Completion, spawn

PATH = "metrics"
_GZIP = 31
"""zlib's `wbits` for the gzip format."""


class MetricsPage(Resource):
    """The metrics page, as gzip for clients that accept it.

    Invariant: at most one page is generated at a time; requests that arrive meanwhile wait for it. Generation reaches a
    checkpoint after each piece.
    """

    def __init__(
        self, clock: Clock, content_type: str, pieces: Callable[[], Iterator[Completion[None] | bytes | None]]
    ) -> None:
        """`pieces`: generates a page. None is a piece without text; a completion is awaited before the next piece."""
        super().__init__()
        self._content_type = content_type
        self._pieces = pieces
        self._waiting: list[Any] = []
        self._clock = clock
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True
        self._answer(None, None)

    def render_GET(self, request: Any) -> Any:
        self._waiting.append(request)
        request.notifyFinish().addBoth(lambda _: self._waiting.remove(request) if request in self._waiting else None)
        if len(self._waiting) == 1:
            spawn(self._make())
        return NOT_DONE_YET

    async def _make(self) -> None:
        plain: list[bytes] = []
        zipped: list[bytes] = []
        try:
            for piece in self._pieces():
                if isinstance(piece, bytes):
                    plain.append(piece)
                elif piece is not None:
                    await piece
                await self._clock.checkpoint()
                if self._stopped:
                    return
            if any(map(_accepts_gzip, self._waiting)):
                compressor = zlib.compressobj(1, wbits=_GZIP)
                for part in plain:
                    zipped.append(compressor.compress(part))
                    await self._clock.checkpoint()
                zipped.append(compressor.flush())
        except Exception:
            self._answer(None, None)
            raise
        self._answer(plain, zipped)

    def _answer(self, plain: list[bytes] | None, zipped: list[bytes] | None) -> None:
        """Answer all waiting requests; None: there is no page."""
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
