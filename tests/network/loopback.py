"""A socket server on the loopback interface, and clients with plain sockets, all in one thread."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafkapy.common.broker import EndPoint
from kafkapy.common.rate import Rate
from kafkapy.network.connection_quotas import ConnectionLimits
from kafkapy.network.request import Request
from kafkapy.network.socket_server import SocketServer
from kafkapy.network.tls_transport import TlsFactory
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.headers import ResponseHeader, encode_request
from kafkapy.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkapy.record.file_records import FileRecords
from kafkapy.record.lazy_records import LazyRecords
from kafkapy.runtime.clock import InThread, MockClock
from kafkapy.runtime.pollers import Pollers
from kafkapy.runtime.reactor import BrokerReactor
from tests.waiting import HANG_SECONDS


class Loopback:
    """A server that answers Heartbeats at once, and Fetches with `records`; or nothing at all while `hold` is set."""

    def __init__(
        self,
        limits: ConnectionLimits | None = None,
        inter_broker: str | None = None,
        send_buffer: int = -1,
        make_rate: Callable[[], Rate] = Rate,
        cold_reads: InThread | None = None,
        pollers: Pollers | None = None,
        now: Callable[[], float] = time.monotonic,
        tls: TlsFactory | None = None,
    ) -> None:
        """`now`: the reactor's time. `tls`: of all listeners."""
        self.reactor = BrokerReactor(pollers, now)
        self.server = SocketServer(
            self.reactor,
            [ApiKey.HEARTBEAT, ApiKey.FETCH],
            1 << 20,
            limits or ConnectionLimits(),
            MockClock().in_thread if cold_reads is None else cold_reads,
            MockClock().in_thread,
            inter_broker,
            make_rate=make_rate,
            send_buffer=send_buffer,
            tls_of=lambda _: tls,
        )
        self.now = 0.0
        self.server.now = lambda: self.now
        self.records: FileRecords | LazyRecords | bytes = b""
        self.hold = False
        self.requests: list[Request] = []
        self.clients: list[LoopbackClient] = []

    def listen(self, name: str = "PLAINTEXT", accept: bool = True, host: str = "127.0.0.1") -> int:
        port = self.server.listen(EndPoint(host, 0, name, "PLAINTEXT"))
        if accept:
            self.server.start_accepting(self.handle)
        return port

    def handle(self, request: Request) -> None:
        self.requests.append(request)
        if not self.hold:
            self.answer(request)

    def answer(self, request: Request) -> None:
        if request.api_key is ApiKey.HEARTBEAT:
            request.respond(HeartbeatResponse())
            return
        data = FetchResponse.PartitionData(partition_index=0, records=self.records)
        topic = FetchResponse.FetchableTopicResponse(topic="t", partitions=[data])
        request.respond(FetchResponse(responses=[topic]))

    def connect(self, port: int, receive_buffer: int | None = None, host: str = "127.0.0.1") -> LoopbackClient:
        self.clients.append(LoopbackClient(self, port, receive_buffer, host))
        return self.clients[-1]

    def until(self, condition: Callable[[], bool]) -> None:
        """Run the reactor until the condition holds."""
        deadline = time.monotonic() + HANG_SECONDS
        while not condition():
            assert time.monotonic() < deadline, "the condition never came true"
            self.reactor.iterate(0.005)

    def turns(self, count: int = 10) -> None:
        """Let the reactor do what it would do by itself."""
        for _ in range(count):
            self.reactor.iterate(0)

    def close(self) -> None:
        for client in self.clients:
            client.socket.close()
        self.server.shutdown()
        for port in list(self.server._ports.values()):
            port.stopListening()
        self.turns()
        for reader in self.reactor.removeAll():
            with contextlib.suppress(Exception):
                reader.connectionLost(None)


class LoopbackClient:
    """One connection; nothing is read from it but by `response` and `drain`."""

    def __init__(self, loop: Loopback, port: int, receive_buffer: int | None, host: str) -> None:
        self.loop = loop
        self.socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.connect((host, port))
        self.socket.setblocking(False)
        self.received = bytearray()
        self.eof = False
        self._correlation_id = 0

    def heartbeat(self) -> None:
        self.send(HeartbeatRequest(group_id="g", member_id="m"), 4)

    def fetch(self) -> None:
        self.send(FetchRequest(max_wait_ms=0, min_bytes=0), 12)

    def send(self, request: Any, version: int) -> None:
        self._correlation_id += 1
        api_key = ApiKey(request.API_KEY)
        self.socket.sendall(encode_request(api_key, version, self._correlation_id, "client", request))

    def read_some(self) -> bool:
        """Read once; True if there was anything to read (the end counts)."""
        try:
            data = self.socket.recv(1 << 18)
        except BlockingIOError:
            return False
        except ConnectionResetError:
            data = b""
        self.received += data
        self.eof = self.eof or not data
        return True

    def response(self) -> tuple[int, bytes]:
        """(correlation id, the rest) of the next response."""
        self.loop.until(lambda: self.has_frame() or (self.read_some() and self.has_frame()))
        (size,) = struct.unpack_from(">i", self.received)
        frame = bytes(self.received[4 : 4 + size])
        del self.received[: 4 + size]
        return struct.unpack_from(">i", frame)[0], frame[4:]

    def has_frame(self) -> bool:
        """Is the next response all here?"""
        assert not self.eof, "the connection was closed"
        received = self.received
        return len(received) >= 4 and len(received) - 4 >= struct.unpack_from(">i", received)[0]

    def fetched(self) -> bytes:
        """The records of the next response, a Fetch's."""
        correlation_id, rest = self.response()
        frame = struct.pack(">i", correlation_id) + rest
        _, position = ResponseHeader.decode(frame, ApiKey.FETCH, 12)
        response = FetchResponse.decode(frame, 12, position)
        return bytes(response.responses[0].partitions[0].records or b"")

    def is_served(self) -> bool:
        """Does the server answer within some turns? The later ones wait for a kernel that is busy."""
        self.heartbeat()
        for turn in range(100):
            self.loop.reactor.iterate(0 if turn < 50 else 0.005)
            if self.read_some():
                self.received.clear()
                return not self.eof
        return False

    def is_closed(self) -> bool:
        while not self.eof and self.read_some():
            pass
        return self.eof


@pytest.fixture
def make_loopback() -> Iterator[Callable[..., Loopback]]:
    made: list[Loopback] = []

    def make(*arguments: Any, **options: Any) -> Loopback:
        made.append(Loopback(*arguments, **options))
        return made[-1]

    yield make
    for loopback in made:
        loopback.close()
