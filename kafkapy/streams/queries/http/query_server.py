"""The HTTP end point of an instance: its sockets, their limits, and forwarding to other instances."""

from __future__ import annotations

import http.client
import json
import logging
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from kafkapy.common.bind_errors import cause_and_remedy
from kafkapy.streams.assignment.task_id import HostInfo
from kafkapy.streams.errors import StreamsException
from kafkapy.streams.queries.http.answers import QueriedInstance, QueryAnswers, StoreAnswer, body_of

log = logging.getLogger("kafkapy.streams")

_IDLE_SECONDS: Final = 10.0
_MAX_CONNECTIONS: Final = 64
_MAX_FORWARDS: Final = 32
"""Limit of concurrent forwarded queries: below that of connections, so that instances that forward to each other can
answer."""
_MAX_BODY: Final = 64 << 20
"""Limit of another instance's response in bytes."""


class QueryServer:
    """Serves `QueryAnswers`; at most `_MAX_CONNECTIONS` at a time, further ones are refused with 503.

    Args:
        instance: The instance to query.
        host: Its `application.server`, the address for other instances. listen: host:port to listen at; empty: `host`.

    Raises:
        StreamsException: It cannot listen at the address.
    """

    def __init__(self, instance: QueriedInstance, host: HostInfo, listen: str) -> None:
        self._forwards = threading.BoundedSemaphore(_MAX_FORWARDS)
        answers = QueryAnswers(instance, host, self._ask)
        address = listen or f"{host.host}:{host.port}"
        name, _, port = address.rpartition(":")
        try:
            self._server = _Server((name, int(port)), _handler(answers))
        except (OSError, ValueError, OverflowError) as problem:
            why = cause_and_remedy(problem, "kafkapy.application.server.listen")
            raise StreamsException(f"Stores cannot be served at {address}: {why}") from problem
        self._thread = threading.Thread(target=self._server.serve_forever, name="streams-queries", daemon=True)

    @property
    def port(self) -> int:
        """The port."""
        return int(self._server.server_address[1])

    def start(self) -> None:
        """Serve in the background."""
        self._thread.start()
        log.info("Stores are served at port %d", self.port)

    def close(self) -> None:
        """Stop."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def _ask(self, host: HostInfo, url: str) -> StoreAnswer:
        """Forward a query to another instance.

        Raises:
            OSError: The instance cannot be reached, or its response is malformed.
        """
        if not self._forwards.acquire(timeout=_IDLE_SECONDS):
            return StoreAnswer(503, {"error": "Too many questions to other instances are under way: try again"})
        connection = http.client.HTTPConnection(host.host, host.port, timeout=_IDLE_SECONDS)
        try:
            connection.request("GET", url)
            response = connection.getresponse()
            body = response.read(_MAX_BODY + 1)
            if len(body) > _MAX_BODY:
                return StoreAnswer(502, {"error": "The answer of another instance is too large: ask for fewer entries"})
            found = json.loads(body)
            if not isinstance(found, dict):
                raise OSError("no object")
            return StoreAnswer(response.status, found)
        except (http.client.HTTPException, ValueError) as error:
            raise OSError(str(error)) from error
        finally:
            connection.close()
            self._forwards.release()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # the threads end with their connections

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._free = threading.BoundedSemaphore(_MAX_CONNECTIONS)
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
            return
        try:
            request.sendall(b"HTTP/1.0 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
        except OSError:
            pass  # the client has gone
        self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        log.debug("A connection of %s has ended", client_address, exc_info=True)


def _handler(answers: QueryAnswers) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _IDLE_SECONDS

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            path = [unquote(part) for part in parts.path.split("/")[1:]]
            try:
                parameters = dict(parse_qsl(parts.query, keep_blank_values=True, max_num_fields=20))
            except ValueError:
                answer = StoreAnswer(400, {"error": "Too many parameters"})
            else:
                answer = answers.answer(path, parameters)
            body = body_of(answer)
            self.send_response(answer.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler
