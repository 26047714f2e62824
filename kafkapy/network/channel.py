"""A client connection: reads frames, handles one request at a time, sends responses in order (Kafka's `KafkaChannel`
and `Processor`)."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable
from struct import Struct
from typing import Any, Final, Protocol

from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure

from kafkapy.common.metrics_requests import RequestStats, RequestStatsByApi
from kafkapy.network.large_requests import INLINE_PRODUCE_BYTES, is_large
from kafkapy.network.memory_pool import MemoryPool
from kafkapy.network.request import ERRORS_NOTED_BY_HANDLER, AnswerChannel, Request, RequestContext
from kafkapy.network.sasl_connection import SaslConnection
from kafkapy.network.send_queue import Part
from kafkapy.network.spare_buffers import SpareBuffers
from kafkapy.network.transport import PlaintextTransport
from kafkapy.protocol.api_codecs import ApiCodecs, NotServedError
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import read_request_header
from kafkapy.protocol.message import Message
from kafkapy.protocol.response_errors import error_codes
from kafkapy.protocol.wire import SchemaError
from kafkapy.runtime import large_memory
from kafkapy.runtime.time_slice import TimeSlice

log = logging.getLogger("kafkapy.network.SocketServer")

_SIZE: Final = Struct(">i")
_API_KEY: Final = Struct(">h")
_PRODUCE: Final = int(ApiKey.PRODUCE)

SHARED_BUFFER_SIZE: Final = INLINE_PRODUCE_BYTES
"""Size in bytes of the one receive buffer that all connections share: a request is handled before the next read.

It has room for the records of a producer's `max.request.size`, plus the rest of the request.
"""

_MIN_PRIVATE_BUFFER: Final = 1 << 12

KEPT_PRIVATE_BUFFER: Final = 1 << 18
"""A private buffer of at most this size is kept for the next partial frame; a larger one is given back to the pool of
spares."""

MAX_AWAITING: Final = 5
"""How many Produce requests of one connection may wait for their replicas at the same time.

An idempotent producer has at most this many in flight, and a log detects at most this many of its batches as
duplicates.
"""

SMALL_ANSWER: Final = 4096
"""A larger response ends the gathering of responses to requests that arrived together. Bytes."""

_shared: Final = memoryview(bytearray(SHARED_BUFFER_SIZE))
_spares: Final = SpareBuffers()
"""Spare buffers of more than `KEPT_PRIVATE_BUFFER` and at most `SHARED_BUFFER_SIZE` bytes."""


class ChannelOwner(Protocol):
    """What a connection needs of the `SocketServer`."""

    reactor: Any
    max_request_size: int
    codecs: ApiCodecs
    memory_pool: MemoryPool | None
    request_stats: RequestStatsByApi | None
    time_slice: TimeSlice
    failed_authentication_delay: float
    """Seconds."""

    @property
    def now(self) -> Callable[[], float]:
        """A monotonic clock, seconds."""
        ...

    def decode(self, channel: KafkaChannel, request: Request, frame: memoryview | bytes, position: int) -> None:
        """Decode the request in a thread, then call the channel's `decoded`."""
        ...

    def release(self, produce: Any) -> None:
        """Free a Produce request and the large memory of its records, in a thread."""
        ...

    def channel_opened(self, channel: KafkaChannel) -> None: ...

    def channel_closed(self, channel: KafkaChannel) -> None: ...


class KafkaChannel(AnswerChannel):
    """The protocol of one connection.

    Implements Twisted's `IProtocol`, but not by inheritance, so that it can be compiled.

    Invariants:
    - `_pending` holds received bytes that are not yet handled, starting at a frame's size field; it is None when there
      are none, and then bytes are received into the shared buffer.
    - No frame is handled and nothing is read while a request is in flight (`_busy`), a response is not wholly sent
      (`_unsent`), the channel is throttled or has yielded (`_waiting`). So at most one large response is in memory.
    - While a Produce waits for its replicas or for the disk, further Produce requests are handled: their records are
      appended already, so followers fetch them, and one fsync writes them, together (Apache's broker does not read on).
      `_awaiting` holds these requests in order of arrival, which is the order of their answers; at most `MAX_AWAITING`.
      Other requests wait until it is empty (`_held`). Nothing follows a Produce whose records are still to be appended
      (`hold`).
    - A large request is in flight from the time its decoding begins, in a thread.
    - Small responses to requests that arrived together are sent together, so that the client wakes once: they are
      `_gathered` while the next request is in the buffer and is a Produce (`_gathering`), which delays them only
      briefly.
    - Memory grows with what has arrived, not with what a frame's size field claims.
    - `_reserved` bytes of the server's memory pool, if it has one, are reserved for the frame in `_pending`; while the
      pool is exhausted, the channel is `_starved` and reads no more of the frame.
    - `_spare` is an unused private buffer for the next partial frame; None if there is none.
    """

    transport: PlaintextTransport

    def __init__(self, server: ChannelOwner, context: RequestContext, handler: Callable[[Request], None]) -> None:
        self._server = server
        self._now = server.now
        self._handler = handler
        self._max_request_size = server.max_request_size
        self._codecs = server.codecs
        self.context = context
        self.peer = ""
        """The client's IP address, by which connections are counted."""
        self.sasl: SaslConnection | None = None
        """Set before the first read, on listeners with SASL."""
        self._pending: memoryview | None = None
        self._filled = 0
        self._spare: memoryview | None = None
        self._reserved = 0
        self._frame_size = 0
        """Frame size of the last request, in bytes."""
        self._starved = False
        self._busy = False
        self._unsent = False
        self._handling = False
        self._awaiting: deque[Request] = deque()
        self._held = False
        self._gathering = False
        self._gathered: list[bytes] = []
        self._waiting: Any = None
        self._wait_to_close: Any = None
        self._throttle_ms = 0
        self.closed = False
        self.last_active = server.now()
        self._queued_before = 0
        self._slice = server.time_slice
        self._meter = self._slice.meter
        self._stats = None if server.request_stats is None else server.request_stats.clients
        """By API key; None: requests are not measured."""
        self._in_flight: tuple[RequestStats, float, float] | None = None
        """A measured request that was not answered at once: its statistics, when it was received, when its handler
        returned."""
        self._answered_at = 0.0

    # ------------------------------------------------------------------------------------------------ receiving

    @property
    def muted(self) -> bool:
        waits = self._unsent or self._held or self._starved or self._waiting is not None
        return self._busy or waits or self.closed

    def receive_buffer(self) -> memoryview:
        pending = self._pending
        if pending is None:
            return _shared
        if self._filled == len(pending):
            self._grow(pending)
        assert self._pending is not None
        return self._pending[self._filled :]

    def _grow(self, pending: memoryview) -> None:
        """Double the private buffer, at most to the end of its frame."""
        whole = wanted = max(2 * len(pending), _MIN_PRIVATE_BUFFER)
        if self._filled >= 4:
            whole = max(4 + _SIZE.unpack_from(pending)[0], self._filled + 1)
            wanted = _room(wanted, whole)
        bigger = _buffer(wanted, whole)
        bigger[: self._filled] = pending[: self._filled]
        self._pending = bigger
        _give_spare(pending)

    def bytes_received(self, count: int) -> None:
        self.last_active = self._now()
        if self._pending is None:
            self._handle_frames(_shared, count)
        else:
            self._filled += count
            self._handle_pending()

    def dataReceived(self, data: bytes) -> None:
        while data and not self.closed:
            buffer = self.receive_buffer()
            count = min(len(buffer), len(data))
            buffer[:count] = data[:count]
            data = data[count:]
            self.bytes_received(count)

    def _handle_pending(self) -> None:
        pending, filled = self._pending, self._filled
        if pending is None:
            return
        if filled >= 4:
            size = _SIZE.unpack_from(pending)[0]
            if filled - 4 < size <= self._max_request_size:
                self._reserve(size)
                return
        self._detach_pending()
        self._filled = 0
        self._handle_frames(pending, filled)
        if len(pending) > KEPT_PRIVATE_BUFFER:
            _give_spare(pending)
        elif self._spare is None:
            self._spare = pending

    def _handle_frames(self, buffer: memoryview, end: int) -> None:
        """Handle the complete frames in `buffer[:end]`, keep the rest."""
        position = handled = 0
        began = 0.0
        while end - position >= 4 and not self.muted:
            if position:
                if not handled:
                    began = self._slice.begin_burst()
                handled += 1
                if self._slice.burst_is_over(began, handled):
                    self._wait(0)  # yields to other connections
                    break
            (size,) = _SIZE.unpack_from(buffer, position)
            sasl = self.sasl
            if sasl is not None and not sasl.complete and not 0 <= size <= sasl.max_receive_size:
                sasl.reject_oversized(self, size)
                return
            if size < 0 or size > self._max_request_size:
                self.close(
                    f"a frame of {size} bytes was announced; socket.request.max.bytes is {self._max_request_size}"
                )
                return
            body = position + 4
            if end - body < size:
                break
            if self._awaiting and not self._may_follow(buffer[body:end]):
                self._held = True
                break
            position = body + size
            self._gathering = _starts_with_produce(buffer[position:end])
            self._handle_frame(buffer[body:position])
            if self._gathered and not self._gathering:
                self._send_gathered()
        self._gathering = False
        if self._gathered:
            self._send_gathered()
        if self.closed:
            return
        if position < end:
            self._keep(buffer[position:end])
            if end - position >= 4 and not self.muted:
                self._reserve(_SIZE.unpack_from(buffer, position)[0])

    def _may_follow(self, frame: memoryview) -> bool:
        """Return whether this frame may be handled while earlier Produce requests wait."""
        if len(self._awaiting) >= MAX_AWAITING or len(frame) < _API_KEY.size:
            return False
        key: int = _API_KEY.unpack_from(frame)[0]
        return key == _PRODUCE

    def _keep(self, rest: memoryview) -> None:
        """Copy the start of the next frame into a private buffer, with room for all of it if half of it has arrived."""
        whole = wanted = size = len(rest)
        if not self.muted:
            frame = 4 + _SIZE.unpack_from(rest)[0] if size >= 4 else _MIN_PRIVATE_BUFFER
            wanted = max(size, _MIN_PRIVATE_BUFFER, _room(2 * size, frame))
            whole = max(wanted, frame)
        kept, self._spare = self._spare, None
        if kept is None or len(kept) < wanted:
            kept = _buffer(wanted, whole)
        kept[:size] = rest
        self._pending = kept
        self._filled = size

    def _reserve(self, size: int) -> None:
        """Reserve memory for the whole frame; stop reading if the pool is exhausted."""
        pool = self._server.memory_pool
        if pool is not None and not self._reserved:
            self._starved = not pool.reserve(size, self)
            if not self._starved:
                self._reserved = size

    def memory_available(self) -> None:
        self._starved = False
        self._resume()

    def _detach_pending(self) -> None:
        """Detach `_pending`: the caller has its bytes now, or they are dropped."""
        self._pending = None
        pool = self._server.memory_pool
        if pool is not None:
            pool.remove_waiter(self)
            reserved, self._reserved = self._reserved, 0
            if reserved:
                pool.release(reserved)

    def _handle_frame(self, frame: memoryview) -> None:
        if self.sasl is not None and self.sasl.handle_auth_frame(self, frame):
            return None
        try:
            key, version, correlation_id, client_id, position = read_request_header(frame)
            codec = self._codecs.find(key, version)
            request = Request(self, self.context, codec, correlation_id, None)
            request.size = len(frame)
            if is_large(frame, key, version, position):
                return self._decode_in_thread(request, client_id, frame, position)
            request.body = codec.decode(frame, position)
        except SchemaError as error:
            return self.close(f"malformed request: {error}")
        except NotServedError as reason:
            return self.close(str(reason))
        self.context.client_id = client_id
        self._handle_request(request, key)
        return None

    def _decode_in_thread(self, request: Request, client_id: str, frame: memoryview, position: int) -> None:
        """Decode a large request in a thread. Nothing is read until it is answered."""
        self.context.client_id = client_id
        self._busy = True
        self._frame_size = request.size
        if self._server.memory_pool is not None:
            self._server.memory_pool.reserve_again(request.size)
        # A larger one has a buffer of its own, which is not reused.
        kept = bytes(frame) if request.size <= SHARED_BUFFER_SIZE else frame
        self._server.decode(self, request, kept, position)

    def decoded(self, request: Request) -> None:
        """Continue with a request that was decoded in a thread: it has its body, or the channel is closed."""
        if self._server.memory_pool is not None:
            self._server.memory_pool.release(request.size)
        if self.closed and (request.api_key is not ApiKey.PRODUCE or request.body is None):
            return
        # A Produce is handled even if the client has disconnected: with acks=0 it need not wait for an answer.
        self._handle_request(request, int(request.api_key))
        if not self.muted:
            self._resume()

    def _handle_request(self, request: Request, key: int) -> None:
        self.context.api_key = request.api_key
        self._busy = True
        self._handling = True
        self._frame_size = request.size
        received = self.last_active
        self._meter.request = request
        self._meter.body = request.body
        try:
            self._handler(request)
        finally:
            self._handling = False
        if self._busy and key == _PRODUCE and not request.has_unappended:
            self._awaiting.append(request)
            self._busy = False
            request.body = None  # its records are in the log, so their memory may be freed
        if self._stats is not None:
            self._handled(request, received)
        if self._awaiting:
            self._send_answers()

    def has_peer(self) -> bool:
        return not self.closed and self.transport.has_peer()

    def hold(self, request: Request, later: Iterable[Any]) -> None:
        request.has_unappended = True
        if self._frame_size <= SHARED_BUFFER_SIZE:
            for data in later:
                data.records = _kept(data.records)
        if self._server.memory_pool is not None:
            self._server.memory_pool.reserve_again(self._frame_size)

    def written(self, body: Any) -> None:
        if self._server.memory_pool is not None:
            self._server.memory_pool.release(self._frame_size)
        if self._frame_size > SHARED_BUFFER_SIZE:
            self._server.release(body)

    # ------------------------------------------------------------------------------------------------ answering

    def send_response(self, request: Request, response: Message, throttle_ms: int = 0) -> None:
        if self.closed:
            return
        if self._meter.request is None:
            self._meter.request = request
        if not self._awaiting:
            self._send(request, response, throttle_ms)
            self.request_done(throttle_ms)
            return
        request.answer = (response, throttle_ms, self._now())
        if request not in self._awaiting:  # it was answered by its handler
            self._awaiting.append(request)
            self._busy = False
        if not self._handling:
            self._send_answers()

    def _send(self, request: Request, response: Message, throttle_ms: int) -> None:
        encoded = request.encoded
        self.send_parts(request.codec.encode(request.correlation_id, response) if encoded is None else encoded[0])
        stats = self._stats
        if stats is not None:
            if encoded is not None:
                counts = stats[request.api_key]
                for code, times in encoded[1].items():
                    counts.error(code, times)
            elif request.failed or request.api_key not in ERRORS_NOTED_BY_HANDLER:
                self._count_errors(request.api_key, error_codes(response))
            if throttle_ms:
                stats[request.api_key].throttle.record(throttle_ms)

    def _send_answers(self) -> None:
        """Send the answers at the head of `_awaiting`, in order. Then other requests may follow."""
        awaiting = self._awaiting
        longest_throttle_ms = -1
        while awaiting and awaiting[0].answer is not None:
            request = awaiting.popleft()
            assert request.answer is not None
            response, throttle_ms, answered_at = request.answer
            self._send(request, response, throttle_ms)
            longest_throttle_ms = max(longest_throttle_ms, throttle_ms)
            if request.times is not None and self._stats is not None:
                self._stats[request.api_key].record_delayed((*request.times, answered_at, self._now()))
        if longest_throttle_ms >= 0:
            self._held = False
            if not self._busy:
                self.request_done(longest_throttle_ms)
            elif self.transport.outgoing.queued_bytes:
                self._unsent = True

    def answer_awaiting_now(self) -> None:
        """If several Produce requests wait for their replicas, answer them all with their current state."""
        if len(self._awaiting) > 1:
            for request in list(self._awaiting):
                if request.answer is None and request.answer_now is not None:
                    request.answer_now()

    def send_parts(self, parts: list[Part]) -> None:
        """Send the parts of one response."""
        answer = parts[0]
        if len(parts) > 1 or not isinstance(answer, bytes):
            if self._gathered:
                self._send_gathered()
            self.transport.send_parts(parts)
        elif self._gathering or self._gathered:
            self._gathered.append(answer)
            if len(answer) > SMALL_ANSWER:
                self._send_gathered()
        else:
            self.transport.send(answer)

    def _send_gathered(self) -> None:
        answers = b"".join(self._gathered)
        self._gathered = []
        self.transport.send(answers)
        if self.transport.outgoing.queued_bytes:
            self._unsent = True

    def request_done(self, throttle_ms: int = 0) -> None:
        """The current request is answered: continue with the buffered frames once the response is sent."""
        if self.closed:
            return
        self._busy = False
        self._throttle_ms = throttle_ms
        if self._in_flight is not None:
            self._answered_at = self._now()
        if self.transport.outgoing.queued_bytes:
            self._unsent = True
        else:
            self._unmute()

    def drained(self) -> None:
        """The transport has sent everything."""
        if self._unsent and not self.closed:
            self._unsent = False
            if not self._busy:  # else: a later request is in flight
                self._unmute()

    def _unmute(self) -> None:
        if not self._handling or self._stats is not None:
            self.last_active = now = self._now()  # the client had to wait, so its idle time starts now
            if self._in_flight is not None:
                stats, received, handled = self._in_flight
                self._in_flight = None
                stats.record_delayed((received, handled, self._answered_at, now))
        if self._throttle_ms > 0:
            self._wait(self._throttle_ms / 1000)
            self.last_active += self._throttle_ms / 1000
            self._throttle_ms = 0
        elif not self._handling:
            self._resume()

    def _wait(self, seconds: float) -> None:
        if self._waiting is not None:  # set for an earlier response
            self._waiting.cancel()
        self._waiting = self._server.reactor.callLater(seconds, self._waited)

    def _waited(self) -> None:
        self._waiting = None
        if not self.closed:
            self._resume()

    def _resume(self) -> None:
        self._handle_pending()
        if not self.muted:
            self.transport.resume_reading()

    # ------------------------------------------------------------------------------------------------ measuring

    def _handled(self, request: Request, received: float) -> None:
        """Record the times of a request whose handler has returned."""
        assert self._stats is not None
        if request in self._awaiting:
            request.times = (received, self._now())
        elif not self._busy and not self._unsent:
            self._stats[request.api_key].record_immediate(self.last_active - received)
        elif not self.closed:
            self._answered_at = handled = self._now()
            self._in_flight = (self._stats[request.api_key], received, handled)

    def mark_follower(self) -> None:
        """Count this connection's requests as those of a follower, separately, as Kafka does."""
        if self._server.request_stats is not None:
            self._stats = self._server.request_stats.followers

    def _count_errors(self, api_key: ApiKey, codes: Iterable[int]) -> None:
        assert self._stats is not None
        stats = self._stats[api_key]
        for code in codes:
            stats.error(code)

    # ------------------------------------------------------------------------------------------------ life

    def makeConnection(self, transport: PlaintextTransport) -> None:
        self.transport = transport
        transport.setTcpNoDelay(True)
        self._server.channel_opened(self)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
        if self._wait_to_close is not None:
            self._wait_to_close.cancel()
            self._wait_to_close = None
        self._awaiting.clear()
        self.closed = True
        self._detach_pending()
        self._server.channel_closed(self)

    def is_idle(self, since: float) -> bool:
        """Return whether the client has been idle since then.

        Waiting for an answer is not idle; leaving an answer unread is.

        Must be called regularly: whether the client reads an answer shows by the change of what is left of it.
        """
        queued = self.transport.outgoing.queued_bytes
        if queued != self._queued_before:
            self._queued_before = queued
            self.last_active = self._now()
        return self.last_active < since and (queued > 0 or not (self.muted or self._awaiting))

    def abort(self, reason: str) -> None:
        """Close at once."""
        self.closed = True
        self._detach_pending()
        log.info("Closing the connection of %s: %s", self.context.connection_id, reason)
        self.transport.close_now()

    def send_raw(self, data: bytes) -> None:
        """Send an answer of the SASL handshake."""
        self.transport.send(data)
        if self.transport.outgoing.queued_bytes:
            self._unsent = True

    def close_later(self, data: bytes, reason: str) -> None:
        """Send the failure to a client that could not authenticate, after a delay, and close.

        Nothing is read until then."""
        self._busy = True
        self._wait_to_close = self._server.reactor.callLater(
            self._server.failed_authentication_delay, self._refuse, data, reason
        )

    def _refuse(self, data: bytes, reason: str) -> None:
        self._wait_to_close = None
        if not self.closed:
            if data:
                self.transport.send(data)
            self.close(reason)

    def close(self, reason: str) -> None:
        """Close after sending what is queued."""
        if not self.closed:
            if self._gathered:
                self._send_gathered()
            self.closed = True
            self._detach_pending()
            log.info("Closing the connection of %s: %s", self.context.connection_id, reason)
            self.transport.close()


def _kept(records: memoryview | None) -> memoryview | None:
    """Copy the records if they lie in a receive buffer that will be reused."""
    is_read_into = isinstance(records, memoryview) and isinstance(records.obj, bytearray)
    return memoryview(bytes(records)) if records is not None and is_read_into else records


def _room(wanted: int, frame: int) -> int:
    """Return how many bytes of a frame to allocate, if `wanted` suffices for now."""
    return frame if wanted > SHARED_BUFFER_SIZE else min(wanted, frame)


def _buffer(wanted: int, whole: int) -> memoryview:
    """Allocate a private buffer of `wanted` bytes, or take a spare one with room for the `whole` frame if one is free."""
    if KEPT_PRIVATE_BUFFER < whole <= SHARED_BUFFER_SIZE:
        spare = _spares.take(whole)
        if spare is not None:
            return spare
    return memoryview(bytearray(wanted)) if wanted <= SHARED_BUFFER_SIZE else large_memory.allocate(wanted)


def _give_spare(buffer: memoryview) -> None:
    """Give an unused large private buffer back to the spares, unless it is a mapping."""
    memory = buffer.obj
    if isinstance(memory, bytearray) and len(memory) > KEPT_PRIVATE_BUFFER:
        _spares.give(memory)


def _starts_with_produce(received: memoryview) -> bool:
    """Return whether the next request has arrived completely and is a Produce."""
    if len(received) < _SIZE.size + _API_KEY.size:
        return False
    size: int = _SIZE.unpack_from(received)[0]
    key: int = _API_KEY.unpack_from(received, _SIZE.size)[0]
    return key == _PRODUCE and size <= len(received) - _SIZE.size
