"""An HTTP server on Twisted's: one function answers all requests.

Of a body that is larger than its bound nothing is kept, and the answer is 413.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from twisted.internet.defer import Deferred
from twisted.web import http
from twisted.web.http import HTTPFactory

from kafkapy.http.basic_auth import BasicAuth
from kafkapy.http.messages import HttpAnswer, HttpRequest, error_answer, path_parts

log = logging.getLogger("kafkapy.http")

Handle = Callable[[HttpRequest], "HttpAnswer | Deferred[HttpAnswer]"]


class CrossOrigin(NamedTuple):
    """What browsers are told (CORS). `origins` empty: nothing; `*`: every page may call."""

    origins: tuple[str, ...] = ()
    methods: str = "GET,POST,PUT,DELETE,OPTIONS,HEAD"
    headers: str = "content-type,authorization,accept"

    def headers_for(self, origin: str | None) -> tuple[tuple[str, str], ...]:
        if not self.origins or origin is None or ("*" not in self.origins and origin not in self.origins):
            return ()
        allowed = "*" if "*" in self.origins else origin
        return (("access-control-allow-origin", allowed), ("vary", "origin"))

    def preflight(self, origin: str | None) -> HttpAnswer:
        allowed = self.headers_for(origin)
        if allowed:
            extra = (("access-control-allow-methods", self.methods), ("access-control-allow-headers", self.headers))
            allowed = (*allowed, *extra, ("access-control-max-age", "600"))
        return HttpAnswer(204, b"", allowed)


class SiteSettings(NamedTuple):
    handle: Handle
    max_body_bytes: int
    content_type: str
    auth: BasicAuth | None = None
    cross_origin: CrossOrigin = CrossOrigin()
    headers: tuple[tuple[str, str], ...] = ()
    """Of every answer."""


_PATIENCE = 8
"""How many times the bound is read of a body that is too large."""


class _SiteRequest(http.Request):
    """Twisted's, with a bound for bodies."""

    settings: SiteSettings
    _received = 0
    _refused = False

    def gotLength(self, length: int | None) -> None:
        if length is not None and length > self.settings.max_body_bytes:
            self._refused = True
            length = 0
        super().gotLength(length)

    def handleContentChunk(self, data: bytes) -> None:
        """What is too much is read and thrown away, so that the client hears why; one that goes on and on is cut off."""
        self._received += len(data)
        if self._received > self.settings.max_body_bytes:
            self._refused = True
        if not self._refused:
            super().handleContentChunk(data)
        elif self._received > _PATIENCE * self.settings.max_body_bytes and self.channel is not None:
            self.channel.loseConnection()

    def process(self) -> None:
        settings = self.settings
        if self._refused:
            self._too_large()
            return
        headers = {name.decode("latin-1").lower(): values[-1].decode("latin-1") for name, values in self._headers()}
        origin = headers.get("origin")
        method = self.method.decode("latin-1")
        if method == "OPTIONS" and settings.cross_origin.origins and "access-control-request-method" in headers:
            self._send(settings.cross_origin.preflight(origin), ())
            return
        extra = settings.headers + settings.cross_origin.headers_for(origin)
        user = None
        if settings.auth is not None:
            user = settings.auth.user(headers.get("authorization"))
            if user is None:
                challenge = ("www-authenticate", settings.auth.challenge)
                self._send(error_answer(401, 401, "Unauthorized", settings.content_type, challenge), extra)
                return
        path, _, query = self.uri.decode("latin-1").partition("?")
        body = self.content.read() if self.content is not None else b""
        parameters = dict(parse_qsl(query, keep_blank_values=True))
        request = HttpRequest(method, path, path_parts(path), parameters, headers, body, user)
        try:
            answer = settings.handle(request)
        except Exception:
            self._failed(extra)
            return
        if isinstance(answer, HttpAnswer):
            self._send(answer, extra)
        else:
            answer.addCallbacks(lambda given: self._send(given, extra), lambda failure: self._failed(extra, failure))

    def _headers(self) -> Any:
        return self.requestHeaders.getAllRawHeaders()

    def _failed(self, extra: tuple[tuple[str, str], ...], failure: Any = None) -> None:
        log.error("A request failed: %s", self.uri.decode("latin-1"), exc_info=failure.value if failure else True)
        self._send(error_answer(500, 50001, "Internal Server Error", self.settings.content_type), extra)

    def _send(self, answer: HttpAnswer, extra: tuple[tuple[str, str], ...]) -> None:
        if self._disconnected or self.finished:
            return
        self.setResponseCode(answer.status)
        for name, value in (*answer.headers, *extra):
            self.setHeader(name.encode(), value.encode("latin-1", "replace"))
        if answer.status not in (204, 304):
            self.setHeader(b"content-length", str(len(answer.body)).encode())
        if self.method != b"HEAD":
            self.write(answer.body)
        self.finish()

    def _too_large(self) -> None:
        settings = self.settings
        sentence = f"The body is larger than {settings.max_body_bytes} bytes"
        self._send(error_answer(413, 413, sentence, settings.content_type), settings.headers)


class SiteFactory(HTTPFactory):
    """For `listenTCP` and `listenSSL`. Requests are not logged one by one."""

    def __init__(self, settings: SiteSettings, idle_timeout_s: float = 60) -> None:
        super().__init__(timeout=idle_timeout_s)
        self._request = type("BoundRequest", (_SiteRequest,), {"settings": settings})

    def buildProtocol(self, addr: Any) -> Any:
        channel: Any = super().buildProtocol(addr)
        channel.requestFactory = self._request
        return channel

    def log(self, request: Any) -> None:
        pass
