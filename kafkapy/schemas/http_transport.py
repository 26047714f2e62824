"""Sends requests to a registry's nodes: persistent connections, fail-over, retries."""

from __future__ import annotations

import http.client
import logging
import random
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from kafkapy.common import strict_json
from kafkapy.schemas.errors import SchemaRegistryError, SchemaRegistryUnavailableError

_log = logging.getLogger("kafkapy.schemas")
_CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
_RETRIED = frozenset({408, 429, 500, 502, 503, 504})
_MOST_IDLE = 8
_SNIPPET = 200


class RetryPolicy(NamedTuple):
    """Pauses between rounds through the nodes double from `wait_ms` to `max_wait_ms`, and are halved at random."""

    retries: int
    wait_ms: float
    max_wait_ms: float

    def pause_s(self, failed_rounds: int, chance: float) -> float:
        wait_ms = min(self.max_wait_ms, self.wait_ms * 2.0 ** (failed_rounds - 1))
        return float(wait_ms * (0.5 + chance / 2) / 1000)


class RegistryNode:
    """One node of the registry, and connections to it that are idle. For any thread: one uses a connection at a time."""

    def __init__(self, url: str, timeout_s: float, tls: ssl.SSLContext | None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"The URL of a schema registry begins with http:// or https://; this is {url!r}")
        self.url = url.rstrip("/")
        self.credentials = (parts.username, parts.password or "") if parts.username else None
        self._host, self._port = parts.hostname, parts.port
        if self.credentials:
            self.url = self.url.replace(parts.netloc, parts.netloc.rpartition("@")[2])
        self._path = parts.path.rstrip("/")
        self._timeout_s = timeout_s
        self._tls = (tls or ssl.create_default_context()) if parts.scheme == "https" else None
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []

    def request(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        """Return status, headers and content. Raises OSError or HTTPException if the node is unreachable or its
        response invalid."""
        connection = self._take()
        while connection is not None:
            try:
                return self._ask(connection, method, path, body, headers)
            except (http.client.RemoteDisconnected, ConnectionError):
                connection = self._take()  # the node had closed it meanwhile
        return self._ask(self._new(), method, path, body, headers)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _ask(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        try:
            connection.request(method, self._path + path, body, dict(headers))
            response = connection.getresponse()
            content = response.read()
        except BaseException:
            connection.close()
            raise
        if not response.will_close:
            with self._lock:
                if len(self._idle) < _MOST_IDLE:
                    self._idle.append(connection)
                    return response.status, response.headers, content
        connection.close()
        return response.status, response.headers, content

    def _take(self) -> http.client.HTTPConnection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _new(self) -> http.client.HTTPConnection:
        if self._tls is not None:
            return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout_s, context=self._tls)
        return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout_s)


class HttpTransport:
    """Sends requests to the node that has responded last; if it fails, to the next. Thread-safe.

    A node fails if it is unreachable, or responds with 408, 429 or a 5xx. The next node is tried immediately; after a
    round through all nodes there is a pause.
    """

    def __init__(
        self,
        nodes: Sequence[RegistryNode],
        retries: RetryPolicy,
        authorization: Callable[[RegistryNode], str | None],
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._nodes = nodes
        self._retries = retries
        self._authorization = authorization
        self._sleep = sleep
        self._preferred = 0

    def request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Send a request; return the response's JSON. Raises SchemaRegistryError, SchemaRegistryUnavailableError."""
        content = None if body is None else strict_json.dumps(body).encode()
        failure: Exception | None = None
        for attempt in range(self._retries.retries + 1):
            if attempt:
                self._sleep(self._retries.pause_s(attempt, random.random()))
            first = self._preferred
            for step in range(len(self._nodes)):
                chosen = (first + step) % len(self._nodes)
                node = self._nodes[chosen]
                try:
                    answer = self._ask(node, method, path, content)
                except SchemaRegistryError as error:
                    if error.http_status_code not in _RETRIED:
                        self._preferred = chosen
                        raise
                    failure = error
                except (OSError, http.client.HTTPException) as error:
                    failure = SchemaRegistryUnavailableError(
                        f"The schema registry at {node.url} cannot be reached: {type(error).__name__}: {error}"
                    )
                    failure.__cause__ = error
                else:
                    self._preferred = chosen
                    return answer
                _log.debug("%s %s failed: %s", method, path, failure)
        assert failure is not None
        if isinstance(failure, SchemaRegistryError):
            raise SchemaRegistryUnavailableError(
                f"The schema registry does not serve requests: {failure.message}"
            ) from failure
        raise failure

    def close(self) -> None:
        for node in self._nodes:
            node.close()

    def _ask(self, node: RegistryNode, method: str, path: str, body: bytes | None) -> Any:
        headers = {"Accept": f"{_CONTENT_TYPE}, application/json", "User-Agent": "kafkapy"}
        if body is not None:
            headers["Content-Type"] = _CONTENT_TYPE
        authorization = self._authorization(node)
        if authorization is not None:
            headers["Authorization"] = authorization
        status, _, content = node.request(method, path, body, headers)
        url = f"{node.url}{path}"
        try:
            answer = strict_json.loads(content) if content else None
        except ValueError:
            if status < 300:
                raise SchemaRegistryError(status, status, f"The answer is no JSON: {_snippet(content)}", url) from None
            answer = None
        if status < 300:
            return answer
        if isinstance(answer, dict):
            raise SchemaRegistryError(
                status, int(answer.get("error_code", status)), str(answer.get("message", _snippet(content))), url
            )
        raise SchemaRegistryError(status, status, _snippet(content) or http.client.responses.get(status, ""), url)


def _snippet(content: bytes) -> str:
    return content[:_SNIPPET].decode(errors="replace")
