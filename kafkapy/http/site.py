"""An HTTP server in which one function handles all requests.

A body above the limit is discarded, and the response is 413.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Factory

from kafkapy.http.basic_auth import BasicAuth
from kafkapy.http.connection import HttpConnection
from kafkapy.http.messages import HttpAnswer, HttpRequest, error_answer
from kafkapy.http.request_reader import Arrived

log = logging.getLogger("kafkapy.http")

Handle = Callable[[HttpRequest], "HttpAnswer | Deferred[HttpAnswer]"]


class CrossOrigin(NamedTuple):
    """CORS headers. `origins` empty: none; `*`: all origins are allowed."""

    origins: tuple[str, ...] = ()
    methods: str = "GET,POST,PUT,DELETE,OPTIONS,HEAD"
    headers: str = "content-type,authorization,accept,idempotency-key"

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
    """Headers of every response."""


class Site:
    """Adds authentication, CORS and error handling to the function that handles requests."""

    def __init__(self, settings: SiteSettings) -> None:
        self._settings = settings

    def respond(self, arrived: Arrived) -> HttpAnswer | Deferred[HttpAnswer]:
        settings, request = self._settings, arrived.request
        if arrived.too_large:
            return self.refuse(413, f"The body is larger than {settings.max_body_bytes} bytes")
        headers = request.headers
        origin = headers.get("origin")
        if request.method == "OPTIONS" and settings.cross_origin.origins and "access-control-request-method" in headers:
            return settings.cross_origin.preflight(origin)
        extra = settings.headers + settings.cross_origin.headers_for(origin)
        if settings.auth is not None:
            user = settings.auth.user(headers.get("authorization"))
            if user is None:
                challenge = ("www-authenticate", settings.auth.challenge)
                return _with(error_answer(401, 401, "Unauthorized", settings.content_type, challenge), extra)
            request = request._replace(user=user)
        try:
            answer = settings.handle(request)
        except Exception as error:
            return _with(self._failed(request, error), extra)
        if isinstance(answer, HttpAnswer):
            return _with(answer, extra)
        answer.addErrback(lambda failure: self._failed(request, failure.value))
        return answer.addCallback(_with, extra) if extra else answer

    def _failed(self, request: HttpRequest, error: BaseException | None) -> HttpAnswer:
        log.error("A request failed: %s", request.path, exc_info=error)
        return error_answer(500, 50001, "Internal Server Error", self._settings.content_type)

    def refuse(self, status: int, sentence: str) -> HttpAnswer:
        settings = self._settings
        return error_answer(status, status, sentence, settings.content_type, *settings.headers)


def _with(answer: HttpAnswer, headers: tuple[tuple[str, str], ...]) -> HttpAnswer:
    return answer._replace(headers=answer.headers + headers) if headers else answer


class SiteFactory(Factory):
    """The protocol factory for listening ports."""

    noisy = False

    def __init__(self, settings: SiteSettings, idle_timeout_s: float = 60) -> None:
        site = Site(settings)
        self._arguments = site.respond, site.refuse, settings.max_body_bytes, idle_timeout_s

    def buildProtocol(self, addr: IAddress | None) -> HttpConnection:
        return HttpConnection(*self._arguments)
