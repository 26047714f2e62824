"""A driver without sockets or a clock of its own: for tests of cores, to the millisecond."""

from __future__ import annotations

import heapq
import itertools
import struct
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from kafkapy.clients.driver import DEFAULT_SOCKET_OPTIONS, Buffer, Channel, SocketOptions
from kafkapy.common.time import MockTime, Time
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.headers import RequestHeader
from kafkapy.protocol.messages.api_versions import ApiVersionsResponse
from kafkapy.protocol.messages.metadata import MetadataResponse
from kafkapy.runtime.completion import Completion

T = TypeVar("T")

Handler = Callable[[Any], Any]
"""Request -> response message, bytes (the body as it is), None to hang up, or `SILENCE`."""

SILENCE = object()


class MemoryBroker:
    """Answers requests from functions, at once. `silent`: it takes requests and says nothing, like a stopped process."""

    def __init__(self, cluster: MemoryCluster, node_id: int, host: str, port: int) -> None:
        self.cluster = cluster
        self.node_id = node_id
        self.host = host
        self.port = port
        self.ranges = {key: (key.min_version, key.max_version) for key in ApiKey}
        self.handlers: dict[ApiKey, Handler] = {
            ApiKey.API_VERSIONS: self._api_versions,
            ApiKey.METADATA: cluster.metadata,
        }
        self.requests: list[tuple[ApiKey, int, Any]] = []
        self.connections: list[MemoryTransport] = []
        self.silent = False
        self.latency_ms: Callable[[], float] = lambda: 0
        """How long a connection takes to open, a request to arrive, an answer to come back: drawn for each."""

    def asked(self, api_key: ApiKey) -> list[Any]:
        return [message for key, _, message in self.requests if key is api_key]

    def cut(self, reason: str = "reset by peer") -> None:
        """End all connections."""
        for transport in list(self.connections):
            transport.lose(reason)

    def answer(self, frame: bytes) -> bytes | object | None:
        header, position = RequestHeader.decode(frame)
        api_key, version = ApiKey(header.api_key), header.api_version
        message = api_key.request.decode(frame, version, position)
        self.requests.append((api_key, version, message))
        if self.silent:
            return SILENCE
        response = self.handlers[api_key](message)
        if response is None or response is SILENCE:
            return response
        tags = b"\0" if api_key.response_header_version(version) else b""
        body = response if isinstance(response, bytes) else response.encode(version)
        answer = struct.pack(">i", header.correlation_id) + tags + body
        return struct.pack(">i", len(answer)) + answer

    def _api_versions(self, request: Any) -> ApiVersionsResponse:
        entry = ApiVersionsResponse.ApiVersion
        return ApiVersionsResponse(
            api_keys=[entry(api_key=k, min_version=low, max_version=high) for k, (low, high) in self.ranges.items()]
        )


class MemoryCluster:
    """Brokers by address, and what Metadata says of them. A broker that is in `down` refuses connections."""

    def __init__(self, count: int = 1) -> None:
        self.brokers = {id: MemoryBroker(self, id, f"broker-{id}", 9092) for id in range(count)}
        self.down: set[int] = set()
        self.controller_id = 0
        self.topics: dict[str, MetadataResponse.MetadataResponseTopic] = {}

    def add_topic(self, name: str, leaders: Sequence[int], epoch: int = 0, topic_id: bytes = bytes(16)) -> None:
        """One partition for each leader; a leader of -1 is none."""
        self.topics[name] = MetadataResponse.MetadataResponseTopic(
            name=name,
            topic_id=topic_id,
            partitions=[
                MetadataResponse.MetadataResponsePartition(
                    error_code=5 if leader < 0 else 0,
                    partition_index=index,
                    leader_id=leader,
                    leader_epoch=epoch,
                    replica_nodes=[max(leader, 0)],
                    isr_nodes=[max(leader, 0)],
                )
                for index, leader in enumerate(leaders)
            ],
        )

    def metadata(self, request: Any) -> MetadataResponse:
        broker = MetadataResponse.MetadataResponseBroker
        names = sorted(self.topics) if request.topics is None else [topic.name for topic in request.topics]
        unknown = MetadataResponse.MetadataResponseTopic
        return MetadataResponse(
            brokers=[broker(node_id=b.node_id, host=b.host, port=b.port) for b in self.brokers.values()],
            cluster_id="memory",
            controller_id=self.controller_id,
            topics=[self.topics.get(name) or unknown(error_code=3, name=name) for name in names],
        )

    def at(self, host: str, port: int) -> MemoryBroker | None:
        for broker in self.brokers.values():
            if (broker.host, broker.port) == (host, port) and broker.node_id not in self.down:
                return broker
        return None


class MemoryTransport:
    def __init__(self, driver: MemoryDriver, broker: MemoryBroker | None, channel: Channel) -> None:
        self.queued_bytes = 0
        self._driver = driver
        self._broker = broker
        self._channel = channel
        self._closed = False
        self._busy_until_ms = 0.0
        self._soon(self._connect)

    def _soon(self, f: Callable[[], object]) -> None:
        """After the line's latency, and in order."""
        latency_ms = self._broker.latency_ms() if self._broker is not None else 0
        now = self._driver.time.monotonic_ms()
        self._busy_until_ms = max(self._busy_until_ms, now + latency_ms)
        if self._busy_until_ms > now:
            self._driver.call_later(self._busy_until_ms - now, f)
        else:
            self._driver.call_soon(f)

    def _connect(self) -> None:
        if self._closed:
            return
        if self._broker is None:
            self.lose("Connection refused")
        else:
            self._broker.connections.append(self)
            self._channel.connected()

    def write(self, parts: Sequence[Buffer]) -> None:
        data = b"".join(parts)
        while data:
            (size,) = struct.unpack_from(">i", data)
            self._soon(partial(self._serve, data[: 4 + size]))
            data = data[4 + size :]

    def _serve(self, data: bytes) -> None:
        if self._closed or self._broker is None:
            return
        answer = self._broker.answer(data[4:])
        if answer is None:
            self.lose("the peer closed it")
        elif isinstance(answer, bytes):
            self._soon(partial(self._receive, answer))

    def _receive(self, data: bytes) -> None:
        while data and not self._closed:
            buffer = self._channel.receive_buffer()
            count = min(len(buffer), len(data))
            buffer[:count] = data[:count]
            data = data[count:]
            self._channel.bytes_received(count)

    def lose(self, reason: str) -> None:
        if not self._closed:
            self.close()
            self._channel.disconnected(reason)

    def close(self) -> None:
        self._closed = True
        if self._broker is not None and self in self._broker.connections:
            self._broker.connections.remove(self)

    def pause_reading(self) -> None:
        return

    def resume_reading(self) -> None:
        return


class MemoryTimer:
    def __init__(self, f: Callable[[], object]) -> None:
        self.f: Callable[[], object] | None = f

    def cancel(self) -> None:
        self.f = None


class MemoryDriver:
    """`run` does what is to be done now, `advance` lets time pass. Everything happens inside these two."""

    def __init__(self, cluster: MemoryCluster | None = None, time: MockTime | None = None) -> None:
        self.clock = time or MockTime()
        self.time: Time = self.clock
        self.cluster = cluster or MemoryCluster()
        self.scratch = memoryview(bytearray(1 << 18))
        self._ready: deque[Callable[[], object]] = deque()
        self._timers: list[tuple[float, int, MemoryTimer]] = []
        self._ids = itertools.count()

    def connect(
        self, host: str, port: int, channel: Channel, options: SocketOptions = DEFAULT_SOCKET_OPTIONS
    ) -> MemoryTransport:
        return MemoryTransport(self, self.cluster.at(host, port), channel)

    def call_later(self, delay_ms: float, f: Callable[[], object]) -> MemoryTimer:
        timer = MemoryTimer(f)
        heapq.heappush(self._timers, (self.time.monotonic_ms() + delay_ms, next(self._ids), timer))
        return timer

    def call_soon(self, f: Callable[[], object]) -> None:
        self._ready.append(f)

    def call_soon_threadsafe(self, f: Callable[[], object]) -> None:
        self._ready.append(f)

    def call_now_or_soon(self, f: Callable[[], object]) -> None:
        self._ready.append(f)

    def sleep(self, ms: float) -> Completion[None]:
        pause: Completion[None] = Completion()
        timer = self.call_later(ms, lambda: pause.set_result(None))
        pause.add_callback(lambda _: timer.cancel())
        return pause

    @property
    def live_timers(self) -> list[Callable[[], object]]:
        """What is still to be called some time."""
        return [timer.f for _, _, timer in self._timers if timer.f is not None]

    def run_in_thread(self, f: Callable[[], T]) -> Completion[T]:
        completion: Completion[T] = Completion()
        try:
            completion.set_result(f())
        except Exception as error:
            completion.set_exception(error)
        return completion

    def run(self) -> None:
        while self._ready:
            self._ready.popleft()()

    def advance(self, ms: int) -> None:
        """Let time pass, stopping at each timer on the way."""
        end = self.time.monotonic_ms() + ms
        self.run()
        while self._timers and self._timers[0][0] <= end:
            due, _, timer = heapq.heappop(self._timers)
            f, timer.f = timer.f, None
            if f is None:
                continue
            self.clock.advance(max(0, -int(-due // 1) - self.time.monotonic_ms()))
            f()
            self.run()
        self.clock.advance(max(0, end - self.time.monotonic_ms()))

    def result_of(self, completion: Completion[T], within_ms: int = 0) -> T:
        """Its result; lets up to so much time pass."""
        self.run()
        waited = 0
        while not completion.done and waited < within_ms:
            self.advance(1)
            waited += 1
        assert completion.done, f"nothing came within {within_ms} ms"
        return completion.result()
