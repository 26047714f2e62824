"""Sends requests to other workers (Kafka's `RestClient`)."""

from __future__ import annotations

import http.client
import json
import logging
import ssl
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from kafkapy.connect.errors import ConnectRestException
from kafkapy.connect.herder.session_keys import signature_headers

log = logging.getLogger("kafkapy.connect.rest")

_MOST_BYTES = 64 * 1024 * 1024
_TIMEOUT_S = 90.0


class WorkerAnswer(NamedTuple):
    """`body`: parsed JSON; None if there is none."""

    status: int
    body: Any


class RestWorkerClient:
    """Sends requests to other workers of the cluster.

    Args:
        tls: For `https`; None: the system's certificates. timeout_s: Limit of a response, in seconds.
    """

    def __init__(self, tls: ssl.SSLContext | None = None, timeout_s: float = _TIMEOUT_S) -> None:
        self._tls = tls
        self._timeout_s = timeout_s

    def send_signed(self, url: str, method: str, body: Any, key: bytes | None, algorithm: str) -> None:
        """Send a request between workers.

        Args:
            url: The endpoint's URL.
            method: GET, PUT …
            body: The JSON body; None: no body.
            key: The session key; None: it is not signed.
            algorithm: The signature's algorithm.

        Raises:
            ConnectRestException: The worker refuses the request, or is unreachable.
        """
        data = b"" if body is None else json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        headers = {} if key is None else signature_headers(key, algorithm, data)
        self._send(url, method, data if body is not None else None, headers)

    def forward(self, url: str, method: str, body: Any, authorization: str | None = None) -> WorkerAnswer:
        """Forward a user's request. `authorization`: the request's header. Raises ConnectRestException."""
        data = None if body is None else json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        return self._send(url, method, data, {} if authorization is None else {"Authorization": authorization})

    def _send(self, url: str, method: str, data: bytes | None, headers: Mapping[str, str]) -> WorkerAnswer:
        where = urlsplit(url)
        target = where.path + (f"?{where.query}" if where.query else "")
        sent = {"Accept": "application/json", "User-Agent": "kafka-connect", **headers}
        if data is not None:
            sent["Content-Type"] = "application/json"
        connection: http.client.HTTPConnection
        if where.scheme == "https":
            tls = self._tls or ssl.create_default_context()
            connection = http.client.HTTPSConnection(
                where.hostname or "", where.port, timeout=self._timeout_s, context=tls
            )
        else:
            connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=self._timeout_s)
        try:
            connection.request(method, target, data, sent)
            response = connection.getresponse()
            status, received = response.status, response.read(_MOST_BYTES)
        except (OSError, http.client.HTTPException) as error:
            log.error("IO error forwarding REST request to %s: %s", url, error)
            raise ConnectRestException(500, f"IO Error trying to forward REST request: {error}") from error
        finally:
            connection.close()
        return _answer(status, received)


def _answer(status: int, received: bytes) -> WorkerAnswer:
    if status == 204 or (200 <= status < 300 and not received):
        return WorkerAnswer(status, None)
    try:
        body = json.loads(received)
    except ValueError as error:
        raise ConnectRestException(500, f"IO Error trying to forward REST request: {error}") from error
    if status >= 400:
        told = body if isinstance(body, dict) else {}
        code = told.get("error_code")
        raise ConnectRestException(status, told.get("message"), code if isinstance(code, int) else status)
    if not 200 <= status < 300:
        raise ConnectRestException(500, f"Unexpected status code when handling forwarded request: {status}")
    return WorkerAnswer(status, body)
