"""Forwards writes to the primary."""

from __future__ import annotations

import http.client
import ssl
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

from kafkapy.http.messages import HttpAnswer, HttpRequest
from kafkapy.registry.refusals import forwarding_failed
from kafkapy.registry.service import FORWARDED

_PASSED_ON = ("content-type", "accept", "authorization")


class Forwarding(NamedTuple):
    """`tls` None: the system's certificates."""

    timeout_s: float = 30
    tls: ssl.SSLContext | None = None

    def send(self, url: str, request: HttpRequest) -> HttpAnswer:
        """Send a request to the primary; return its response. Raises RegistryRefusal."""
        where = urlsplit(url)
        assert where.hostname is not None
        connection: http.client.HTTPConnection
        if where.scheme == "https":
            connection = http.client.HTTPSConnection(
                where.hostname, where.port, timeout=self.timeout_s, context=self.tls
            )
        else:
            connection = http.client.HTTPConnection(where.hostname, where.port, timeout=self.timeout_s)
        headers = {name: request.headers[name] for name in _PASSED_ON if name in request.headers}
        path = request.path + (f"?{urlencode(request.query)}" if request.query else "")
        try:
            connection.request(request.method, path, request.body, {**headers, FORWARDED: "false"})
            response = connection.getresponse()
            body = response.read()
            kind = response.headers.get("content-type", "application/json")
            return HttpAnswer(response.status, body, (("content-type", kind),))
        except (OSError, http.client.HTTPException) as error:
            raise forwarding_failed(f"Error while forwarding the request to {url}: {error!r}") from None
        finally:
            connection.close()
