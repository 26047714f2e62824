"""A tiny broker for tests of clients: a real socket, answers from functions."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from typing import Any, Self

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.headers import RequestHeader
from kafkapy.protocol.messages.api_versions import ApiVersionsResponse
from kafkapy.protocol.messages.metadata import MetadataResponse

Handler = Callable[[Any], Any]
"""Request message -> response message, bytes (header and body as they are; none: no answer), or None to hang up."""


class FakeBroker:
    """Serves each connection in a thread of its own until `close`.

    `handlers` answer by API; ApiVersions and Metadata (one broker, this one) are answered anyway. `requests` holds every
    request that came, as (api key, version, message).
    """

    def __init__(self, handlers: dict[ApiKey, Handler] | None = None) -> None:
        self.handlers: dict[ApiKey, Handler] = {
            ApiKey.API_VERSIONS: self.api_versions,
            ApiKey.METADATA: self.metadata,
            **(handlers or {}),
        }
        self.ranges = {key: (key.min_version, key.max_version) for key in ApiKey}
        self.requests: list[tuple[ApiKey, int, Any]] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._connections: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts, which would keep the port open
        self._listener.close()
        self.disconnect()

    def disconnect(self) -> None:
        """Cut all connections, as a restart does."""
        for connection in self._connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # gone already
        self._connections.clear()

    def asked(self, api_key: ApiKey) -> list[Any]:
        return [message for key, _, message in self.requests if key is api_key]

    def api_versions(self, request: Any) -> ApiVersionsResponse:
        entry = ApiVersionsResponse.ApiVersion
        return ApiVersionsResponse(
            api_keys=[entry(api_key=k, min_version=low, max_version=high) for k, (low, high) in self.ranges.items()]
        )

    def metadata(self, request: Any) -> MetadataResponse:
        broker = MetadataResponse.MetadataResponseBroker(node_id=0, host="127.0.0.1", port=self.port)
        return MetadataResponse(brokers=[broker], cluster_id="fake", controller_id=0)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            try:
                while size := stream.read(4):
                    answer = self._answer(stream.read(struct.unpack(">i", size)[0]))
                    if answer is None:
                        return
                    if answer:
                        connection.sendall(struct.pack(">i", len(answer)) + answer)
            except OSError:
                return

    def _answer(self, frame: bytes) -> bytes | None:
        header, position = RequestHeader.decode(frame)
        api_key = ApiKey(header.api_key)
        version = header.api_version
        message = api_key.request.decode(frame, version, position)
        self.requests.append((api_key, version, message))
        response = self.handlers[api_key](message)
        if response is None or isinstance(response, bytes):
            return response
        tags = b"\0" if api_key.response_header_version(version) else b""
        body: bytes = response.encode(version)
        return struct.pack(">i", header.correlation_id) + tags + body
