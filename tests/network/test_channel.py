"""Frames, order and muting of one connection, without a socket."""

from __future__ import annotations

import itertools
import socket
import struct
from collections.abc import Callable
from functools import partial
from random import Random
from time import monotonic
from typing import Any, ParamSpec, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.internet.task import Clock

from kafkapy.network.channel import (
    KEPT_PRIVATE_BUFFER,
    MAX_AWAITING,
    SHARED_BUFFER_SIZE,
    SMALL_ANSWER,
    KafkaChannel,
)
from kafkapy.network.connection_quotas import ConnectionLimits
from kafkapy.network.large_requests import INLINE_DECODE_BYTES
from kafkapy.network.memory_pool import MemoryPool
from kafkapy.network.request import Request, RequestContext
from kafkapy.network.send_queue import SendQueue
from kafkapy.network.socket_server import SocketServer
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.headers import encode_request
from kafkapy.protocol.messages.api_versions import ApiVersionsRequest
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkapy.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkapy.runtime.clock import InThread, MockClock
from kafkapy.runtime.completion import Completion
from kafkapy.runtime.time_slice import BURST_REQUESTS, BURST_SECONDS, TimeSlice

P = ParamSpec("P")
R = TypeVar("R")

MAX_REQUEST = 1 << 22


class FakeTransport:
    def __init__(self) -> None:
        self.sent = b""
        self.sends = 0
        self.full = False
        """What is sent waits in the queue."""
        self.closed = False
        self.resumed = 0
        self.outgoing = SendQueue(socket.socket())

    def setTcpNoDelay(self, enabled: bool) -> None:
        pass

    def send(self, data: bytes) -> None:
        self.send_parts([data])

    def send_parts(self, parts: list[Any]) -> None:
        self.sends += 1
        self.outgoing.queued_bytes += self.full
        self.sent += b"".join(bytes(part) for part in parts)

    def resume_reading(self) -> None:
        self.resumed += 1

    def close(self) -> None:
        self.closed = True


class Broker:
    """Collects requests; answers at once unless `later`, or those in `slow` later and those in `silent` never."""

    def __init__(
        self,
        later: bool = False,
        memory_pool: MemoryPool | None = None,
        in_thread: InThread | None = None,
        time_slice: TimeSlice | None = None,
    ) -> None:
        self.later = later
        self.slow: set[int] = set()
        self.silent: set[int] = set()
        self.topic = ""
        self.clock = Clock()
        self.clock.time_slice = time_slice  # type: ignore[attr-defined]  # as the broker's reactor has one
        server = SocketServer(
            self.clock,
            [ApiKey.HEARTBEAT, ApiKey.PRODUCE, ApiKey.API_VERSIONS],
            MAX_REQUEST,
            ConnectionLimits(),
            MockClock().in_thread,
            in_thread or MockClock().in_thread,
            memory_pool=memory_pool,
        )
        self.slice = server.time_slice
        self.requests: list[Request] = []
        self.channel = KafkaChannel(server, RequestContext("c", "/127.0.0.1", "PLAINTEXT"), self.handle)
        self.transport = FakeTransport()
        self.channel.makeConnection(self.transport)  # type: ignore[arg-type]  # has what a channel uses

    def handle(self, request: Request) -> None:
        self.requests.append(request)
        if request.correlation_id in self.silent:
            request.no_response()
        elif not self.later and request.correlation_id not in self.slow:
            respond(request, topic=self.topic)

    def answered(self) -> list[int]:
        """Correlation ids of the responses sent."""
        ids, position = [], 0
        while position < len(self.transport.sent):
            size, correlation_id = struct.unpack_from(">ii", self.transport.sent, position)
            ids.append(correlation_id)
            position += 4 + size
        return ids


def heartbeat(correlation_id: int) -> bytes:
    return encode_request(ApiKey.HEARTBEAT, 4, correlation_id, "me", HeartbeatRequest(group_id="g", member_id="m"))


def test_frames_are_handled_however_the_bytes_are_cut() -> None:
    data = b"".join(heartbeat(i) for i in range(5))
    for step in (1, 3, 7, 50, len(data)):
        broker = Broker()
        for start in range(0, len(data), step):
            broker.channel.dataReceived(data[start : start + step])
        assert broker.answered() == [0, 1, 2, 3, 4]
        assert broker.requests[0].context.client_id == "me"


def large_heartbeat(correlation_id: int, size: int = INLINE_DECODE_BYTES) -> bytes:
    body = HeartbeatRequest(group_id="g" * 10_000, member_id="m" * 30_000, group_instance_id="i" * (size - 40_000))
    return encode_request(ApiKey.HEARTBEAT, 3, correlation_id, "me", body)


class Threads:
    """Those in which a test does what is to be done."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def in_thread(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Completion[R]:
        done: Completion[R] = Completion()

        def run() -> None:
            try:
                result = function(*args, **kwargs)
            except Exception as error:
                done.set_exception(error)
            else:
                done.set_result(result)

        self.waiting.append(run)
        return done


@pytest.mark.parametrize("later", [False, True])
def test_a_large_request_is_decoded_in_a_thread_and_others_follow_it(later: bool) -> None:
    threads = Threads()
    pool = MemoryPool(MAX_REQUEST)
    broker = Broker(later, pool, threads.in_thread)
    broker.channel.dataReceived(heartbeat(0) + large_heartbeat(1) + heartbeat(2) + large_heartbeat(3) + heartbeat(4))
    if later:
        respond(broker.requests[0])
    assert broker.answered() == [0]
    assert broker.channel.muted
    assert pool.available < MAX_REQUEST - INLINE_DECODE_BYTES
    for count in (2, 4):
        [run] = threads.waiting
        threads.waiting.clear()
        run()
        if later:
            respond(broker.requests[count - 1])
            respond(broker.requests[count])
        assert broker.answered() == list(range(count + 1))
    assert [len(request.body.group_id) for request in broker.requests] == [1, 10_000, 1, 10_000, 1]
    assert broker.requests[1].size > INLINE_DECODE_BYTES
    assert not broker.channel.muted
    assert pool.available == MAX_REQUEST


def test_what_is_decoded_in_a_thread_is_not_overwritten_meanwhile() -> None:
    threads = Threads()
    first, second = Broker(in_thread=threads.in_thread), Broker(in_thread=threads.in_thread)
    first.channel.dataReceived(large_heartbeat(1))
    second.channel.dataReceived(b"x" * 3)
    second.channel.dataReceived(heartbeat(0) * 2000)
    threads.waiting.pop()()
    assert first.requests[0].body.member_id == "m" * 30_000


@pytest.mark.parametrize("gone", [False, True])
def test_a_large_request_that_cannot_be_decoded_or_that_nobody_waits_for(gone: bool) -> None:
    threads = Threads()
    pool = MemoryPool(MAX_REQUEST)
    broker = Broker(False, pool, threads.in_thread)
    frame = bytearray(large_heartbeat(1))
    if not gone:
        frame[14 + 2 : 14 + 4] = b"\xff\xf0"  # the length of the group id
    broker.channel.dataReceived(bytes(frame))
    if gone:
        broker.channel.connectionLost()
    threads.waiting.pop()()
    assert broker.requests == []
    assert broker.channel.closed
    assert pool.available == MAX_REQUEST


def test_one_request_at_a_time_and_answers_in_order() -> None:
    broker = Broker(later=True)
    broker.channel.dataReceived(b"".join(heartbeat(i) for i in range(3)))
    assert [r.correlation_id for r in broker.requests] == [0]
    assert broker.channel.muted
    for i in range(3):
        assert len(broker.requests) == i + 1
        broker.requests[i].respond(HeartbeatResponse())
    assert broker.answered() == [0, 1, 2]
    assert not broker.channel.muted
    assert broker.transport.resumed > 0


def test_a_large_frame_takes_memory_only_as_it_arrives() -> None:
    broker = Broker()
    broker.channel.dataReceived(struct.pack(">i", MAX_REQUEST) + b"x" * 100)
    assert broker.channel._pending is not None
    assert len(broker.channel._pending) <= 4096
    received = 104
    while received < 200_000:
        buffer = broker.channel.receive_buffer()
        count = min(len(buffer), 10_000)
        broker.channel.bytes_received(count)
        received += count
        assert len(broker.channel._pending) <= max(4096, 2 * received)


@pytest.mark.parametrize("ending", ["arrives", "hangs up", "is refused"])
def test_a_request_waits_until_there_is_memory_for_it(ending: str) -> None:
    pool = MemoryPool(50)
    first, second = Broker(memory_pool=pool), Broker(memory_pool=pool)
    frame = heartbeat(1)
    first.channel.dataReceived(frame[:10])
    assert (pool.available, first.channel.muted) == (50 - (len(frame) - 4), False)
    second.channel.dataReceived(struct.pack(">i", 1000) + bytes(6))
    assert (pool.available, second.channel.muted) == (50 - (len(frame) - 4) - 1000, False), (
        "the last may exceed the limit"
    )
    third = Broker(memory_pool=pool)
    third.channel.dataReceived(frame[:10])
    assert third.channel.muted
    first.channel.dataReceived(frame[10:])
    assert first.answered() == [1]
    assert third.channel.muted, "still nothing left"
    if ending == "arrives":
        second.channel.dataReceived(bytes(994))
    elif ending == "hangs up":
        second.channel.connectionLost()
    else:
        second.channel.close("it is refused")
    assert (third.channel.muted, third.transport.resumed) == (False, 1)
    third.channel.dataReceived(frame[10:] + frame)
    assert (third.answered(), pool.available) == ([1, 1], 50)


def test_one_that_hangs_up_waits_for_no_memory() -> None:
    pool = MemoryPool(10)
    first, second = Broker(memory_pool=pool), Broker(memory_pool=pool)
    for broker in (first, second):
        broker.channel.dataReceived(heartbeat(1)[:10])
    second.channel.connectionLost()
    first.channel.dataReceived(heartbeat(1)[10:])
    assert (pool.available, second.transport.resumed) == (10, 0)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.integers(1, 60), min_size=1), st.integers(1, 100))
def test_however_the_bytes_are_cut_all_memory_is_given_back(cuts: list[int], limit: int) -> None:
    pool = MemoryPool(limit)
    brokers = [Broker(memory_pool=pool) for _ in range(3)]
    data = b"".join(heartbeat(i) for i in range(4))
    sent = [0] * 3
    steps = itertools.cycle(cuts)
    while any(position < len(data) for position in sent):
        for i, broker in enumerate(brokers):
            if not broker.channel.muted:
                step = next(steps)
                broker.channel.dataReceived(data[sent[i] : sent[i] + step])
                sent[i] += step
    assert [broker.answered() for broker in brokers] == [[0, 1, 2, 3]] * 3
    assert pool.available == limit


def test_a_private_buffer_serves_frame_after_frame() -> None:
    """Frames that arrive in two parts each, the second part with the beginning of the next frame."""
    broker = Broker()
    data = b"".join(heartbeat(i) for i in range(50))
    size = len(data) // 50
    buffers = set()
    cuts = [0, *range(size // 2, len(data), size), len(data)]
    for start, end in itertools.pairwise(cuts):
        broker.channel.dataReceived(data[start:end])
        if broker.channel._pending is not None:
            buffers.add(id(broker.channel._pending))
    assert broker.answered() == list(range(50))
    assert len(buffers) <= 2


def produce_of(records: bytes) -> bytes:
    data = ProduceRequest.PartitionProduceData(index=0, records=records)
    topic = ProduceRequest.TopicProduceData(name="t", partition_data=[data])
    return encode_request(ApiKey.PRODUCE, 9, 1, "me", ProduceRequest(acks=1, timeout_ms=1, topic_data=[topic]))


def produced_by(broker: Broker) -> list[bytes]:
    """The records that come, in a list that grows; each request is answered at once."""
    found: list[bytes] = []

    def handle(request: Request) -> None:
        found.append(bytes(request.body.topic_data[0].partition_data[0].records))
        request.respond(ProduceResponse())

    broker.channel._handler = handle
    return found


def test_a_frame_larger_than_the_shared_buffer() -> None:
    records = bytes(SHARED_BUFFER_SIZE + 1000)
    broker = Broker(later=True)
    found = produced_by(broker)
    broker.channel.dataReceived(produce_of(records))
    assert [len(one) for one in found] == [len(records)]


@pytest.mark.parametrize("step", [40_000, 300_000, 700_000])
def test_large_frames_of_all_connections_arrive_in_the_same_buffers(step: int) -> None:
    """Of two connections, by turns; each frame in several parts, of which one may have the beginning of the next frame."""
    brokers = [Broker(), Broker()]
    found = [produced_by(broker) for broker in brokers]
    sent = [[Random(f"{step} {b} {i}").randbytes(1_000_000 + 1000 * (i % 3)) for i in range(8)] for b in range(2)]
    streams = [b"".join(map(produce_of, records)) for records in sent]
    buffers: list[Any] = []
    at_half = 0
    for start in range(0, max(map(len, streams)), step):
        for broker, stream in zip(brokers, streams, strict=True):
            broker.channel.dataReceived(stream[start : start + step])
            pending = broker.channel._pending
            if pending is None or len(pending) <= KEPT_PRIVATE_BUFFER:
                continue
            if not any(pending.obj is buffer for buffer in buffers):
                buffers.append(pending.obj)
        if start < len(streams[0]) // 2:
            at_half = len(buffers)
    assert found == sent
    assert 0 < len(buffers) == at_half, "when all sizes have been there nobody needs another buffer"


def test_sizes_out_of_bounds_close_the_connection() -> None:
    for size in (-1, -(2**31), MAX_REQUEST + 1, 2**31 - 1):
        broker = Broker()
        broker.channel.dataReceived(struct.pack(">i", size) + b"xxx")
        assert broker.transport.closed
        assert not broker.requests


def test_unknown_key_version_and_malformed_body_close_the_connection() -> None:
    for frame in (
        struct.pack(">hhih", 999, 0, 1, -1),
        struct.pack(">hhih", ApiKey.FETCH, 0, 1, -1),
        struct.pack(">hhih", ApiKey.HEARTBEAT, 99, 1, -1),
        struct.pack(">hhih", ApiKey.HEARTBEAT, 0, 1, -1) + b"\x7f\xff",
        b"abc",
        b"",
    ):
        broker = Broker()
        broker.channel.dataReceived(struct.pack(">i", len(frame)) + frame)
        assert broker.transport.closed
        assert not broker.requests


def test_api_versions_of_an_unknown_version_reaches_the_handler_without_a_body() -> None:
    broker = Broker(later=True)
    frame = struct.pack(">hhih", ApiKey.API_VERSIONS, 99, 1, -1) + b"\0"
    broker.channel.dataReceived(struct.pack(">i", len(frame)) + frame)
    assert broker.requests[0].body is None
    assert ApiVersionsRequest is not None


def test_a_throttled_connection_is_answered_and_then_rests() -> None:
    broker = Broker(later=True)
    broker.channel.dataReceived(heartbeat(0) + heartbeat(1))
    broker.requests[0].respond(HeartbeatResponse(), throttle_ms=500)
    assert broker.answered() == [0]
    broker.clock.advance(0.4)
    assert len(broker.requests) == 1
    broker.clock.advance(0.2)
    assert len(broker.requests) == 2


def test_nothing_is_handled_after_the_connection_was_closed() -> None:
    broker = Broker(later=True)
    broker.channel.dataReceived(heartbeat(0) + heartbeat(1))
    broker.requests[0].close_connection("test")
    assert broker.transport.closed
    assert len(broker.requests) == 1
    broker.channel.dataReceived(heartbeat(2))
    assert len(broker.requests) == 1


def test_the_next_request_waits_until_the_response_is_sent() -> None:
    broker = Broker()
    broker.transport.outgoing.queued_bytes = 1
    broker.channel.dataReceived(heartbeat(0) + heartbeat(1))
    assert len(broker.requests) == 1
    assert broker.channel.muted
    broker.transport.outgoing.queued_bytes = 0
    broker.channel.drained()
    assert broker.answered() == [0, 1]


def test_a_connection_with_many_requests_gives_way() -> None:
    """When the slice is over."""
    broker = Broker()
    broker.slice.ends = 0
    broker.channel.dataReceived(b"".join(heartbeat(i) for i in range(2000)))
    assert 0 < len(broker.requests) < 2000
    broker.clock.advance(0)
    assert broker.answered() == list(range(2000))


@pytest.mark.parametrize(
    ("seconds", "handled_at_once"),
    [(BURST_SECONDS / BURST_REQUESTS, BURST_REQUESTS), (0.7 * BURST_SECONDS, 3), (2 * BURST_SECONDS, 2)],
)
def test_a_few_that_arrived_together_are_answered_together(seconds: float, handled_at_once: int) -> None:
    """When the slice is over already; as many as a producer has in flight, if they don't take long."""
    now = 1000.0

    class Slow(Broker):
        def handle(self, request: Request) -> None:
            nonlocal now
            now += seconds
            super().handle(request)

    broker = Slow(time_slice=TimeSlice(now=lambda: now))
    broker.slice.ends = 0
    broker.channel.dataReceived(b"".join(heartbeat(i) for i in range(20)))
    assert handled(broker) == list(range(handled_at_once))
    for _ in range(20):
        broker.clock.advance(0)
    assert broker.answered() == list(range(20))


def test_a_slice_in_which_others_had_the_core_is_not_over() -> None:
    broker = Broker()
    broker.slice.ends = 0
    broker.slice.meter._queued = monotonic
    broker.slice.meter._cpu = float
    broker.channel.dataReceived(b"".join(heartbeat(i) for i in range(2000)))
    assert broker.answered() == list(range(2000))


def produce(correlation_id: int) -> bytes:
    return encode_request(ApiKey.PRODUCE, 9, correlation_id, "me", ProduceRequest(acks=-1, timeout_ms=1))


def handled(broker: Broker) -> list[int]:
    return [request.correlation_id for request in broker.requests]


def respond(request: Request, throttle_ms: int = 0, topic: str = "") -> None:
    if request.api_key is ApiKey.PRODUCE:
        request.respond(ProduceResponse(responses=[ProduceResponse.TopicProduceResponse(name=topic)]), throttle_ms)
    else:
        request.respond(HeartbeatResponse(), throttle_ms)


# -- Answers to requests that arrived together


def test_answers_to_what_arrived_together_are_sent_together() -> None:
    broker = Broker()
    broker.channel.dataReceived(produce(0) + produce(1) + produce(2) + produce(3)[:9])
    assert broker.answered() == [0, 1, 2]
    assert broker.transport.sends == 1
    broker.channel.dataReceived(produce(3)[9:])
    assert broker.answered() == [0, 1, 2, 3]
    assert broker.transport.sends == 2


def test_an_answer_does_not_wait_for_one_that_takes_its_time() -> None:
    for slow in (produce(2), heartbeat(2)):
        broker = Broker()
        broker.slow = {2}
        broker.channel.dataReceived(produce(0) + produce(1) + slow + produce(3))
        assert broker.answered() == [0, 1]
        respond(broker.requests[2])
        assert broker.answered() == [0, 1, 2, 3]


def test_a_request_without_an_answer_keeps_none_back() -> None:
    broker = Broker()
    broker.silent = {1}
    broker.slow = {2}
    broker.channel.dataReceived(produce(0) + produce(1) + heartbeat(2))
    assert broker.answered() == [0]
    assert handled(broker) == [0, 1, 2]


def test_many_large_answers_are_not_gathered() -> None:
    broker = Broker()
    broker.topic = "x" * SMALL_ANSWER
    broker.channel.dataReceived(b"".join(produce(i) for i in range(4)))
    assert broker.answered() == [0, 1, 2, 3]
    assert broker.transport.sends == 4


def test_what_was_answered_is_sent_before_a_bad_request_ends_the_connection() -> None:
    broker = Broker()
    malformed = struct.pack(">ihhi", 8, ApiKey.PRODUCE, 9, 2)
    broker.channel.dataReceived(produce(0) + produce(1) + malformed)
    assert broker.answered() == [0, 1]
    assert broker.transport.closed


def test_a_produce_whose_answer_is_not_read_is_answered_once() -> None:
    broker = Broker()
    broker.transport.full = True
    broker.channel.dataReceived(produce(0))
    broker.channel.dataReceived(produce(1))
    assert handled(broker) == [0]
    broker.transport.full = False
    broker.transport.outgoing.queued_bytes = 0
    broker.channel.drained()
    assert broker.answered() == [0, 1]


def test_gathered_answers_that_are_not_read_keep_the_next_request_back() -> None:
    broker = Broker()
    broker.transport.full = True
    broker.channel.dataReceived(produce(0) + produce(1) + heartbeat(2))
    assert handled(broker) == [0, 1]
    assert broker.channel.muted
    broker.transport.full = False
    broker.transport.outgoing.queued_bytes = 0
    broker.channel.drained()
    assert broker.answered() == [0, 1, 2]
    assert not broker.channel.muted


# -- Produce requests that wait for their replicas


def test_what_is_written_together_is_answered_in_order() -> None:
    broker = Broker(later=True)
    broker.channel.dataReceived(produce(0) + produce(1) + produce(2))
    assert handled(broker) == [0, 1, 2]
    respond(broker.requests[1])
    respond(broker.requests[2])
    assert broker.answered() == []
    respond(broker.requests[0])
    assert broker.answered() == [0, 1, 2]
    broker.channel.dataReceived(heartbeat(3))
    assert handled(broker) == [0, 1, 2, 3]


def test_only_so_many_follow() -> None:
    broker = Broker(later=True)
    broker.channel.dataReceived(b"".join(map(produce, range(MAX_AWAITING + 3))))
    assert handled(broker) == list(range(MAX_AWAITING))
    assert broker.channel.muted
    respond(broker.requests[0])
    assert handled(broker) == list(range(MAX_AWAITING + 1))
    respond(broker.requests[1])
    respond(broker.requests[2])
    assert handled(broker) == list(range(MAX_AWAITING + 3))


def test_when_a_leader_has_moved_all_that_wait_are_answered() -> None:
    broker = Broker(later=True)
    broker.channel.dataReceived(produce(0) + produce(1) + heartbeat(2))
    for request in broker.requests:
        request.answer_now = partial(respond, request)
    respond(broker.requests[1])
    broker.requests[1].leader_moved()
    assert broker.answered() == [0, 1]
    assert handled(broker) == [0, 1, 2]


def test_one_that_waits_alone_need_not_hurry() -> None:
    broker = Broker(later=True)
    broker.channel.dataReceived(produce(0) + heartbeat(1))
    (request,) = broker.requests
    request.answer_now = partial(respond, request)
    request.leader_moved()
    assert broker.answered() == []


def test_other_requests_wait_until_all_is_answered() -> None:
    broker = Broker(later=True)
    broker.channel.dataReceived(produce(0) + produce(1) + heartbeat(2) + produce(3))
    assert handled(broker) == [0, 1]
    assert broker.channel.muted
    respond(broker.requests[0])
    assert handled(broker) == [0, 1]
    respond(broker.requests[1])
    assert handled(broker) == [0, 1, 2]
    respond(broker.requests[2])
    assert broker.answered() == [0, 1, 2]
    assert handled(broker) == [0, 1, 2, 3]


def test_what_is_answered_at_once_waits_for_its_turn() -> None:
    broker = Broker(later=True)
    broker.channel.dataReceived(produce(0))
    broker.later = False
    broker.channel.dataReceived(produce(1))
    broker.later = True
    broker.channel.dataReceived(produce(2))
    assert broker.answered() == []
    respond(broker.requests[0])
    assert broker.answered() == [0, 1]
    respond(broker.requests[2])
    assert broker.answered() == [0, 1, 2]


def test_a_produce_without_an_answer_among_others() -> None:
    broker = Broker(later=True)
    broker.channel.dataReceived(produce(0))
    broker.channel._handler = lambda request: request.no_response()
    broker.channel.dataReceived(produce(1))
    broker.channel._handler = broker.handle
    broker.channel.dataReceived(produce(2))
    assert handled(broker) == [0, 2]
    respond(broker.requests[1])
    respond(broker.requests[0])
    assert broker.answered() == [0, 2]


def test_the_memory_of_records_is_let_go() -> None:
    broker = Broker(later=True)
    broker.channel.dataReceived(produce(0))
    assert broker.requests[0].body is None


def test_a_client_that_does_not_read_its_answers() -> None:
    broker = Broker(later=True)
    broker.channel.dataReceived(produce(0) + produce(1))
    broker.transport.outgoing.queued_bytes = 1
    respond(broker.requests[0])
    broker.channel.dataReceived(produce(2))
    assert handled(broker) == [0, 1]
    broker.transport.outgoing.queued_bytes = 0
    broker.channel.drained()
    assert handled(broker) == [0, 1, 2]


def test_answers_that_come_after_the_client_has_gone() -> None:
    broker = Broker(later=True)
    broker.channel.dataReceived(produce(0) + produce(1))
    broker.channel.connectionLost()
    for request in broker.requests:
        respond(request)
    assert broker.answered() == []


def test_one_whose_answer_is_throttled_rests() -> None:
    broker = Broker(later=True)
    broker.channel.dataReceived(produce(0) + produce(1))
    respond(broker.requests[1], 500)
    respond(broker.requests[0])
    assert broker.answered() == [0, 1]
    broker.channel.dataReceived(produce(2))
    assert handled(broker) == [0, 1]
    broker.clock.advance(0.5)
    assert handled(broker) == [0, 1, 2]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from("ph"), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_whatever_the_order_of_answers(kinds: list[str], chance: Random) -> None:
    """Each request is handled and answered once, in order; nothing overtakes, and never do too many wait."""
    broker = Broker(later=True)
    data = b"".join(produce(i) if kind == "p" else heartbeat(i) for i, kind in enumerate(kinds))
    unanswered: set[int] = set()
    seen = 0
    while data or unanswered:
        if data and (not unanswered or chance.random() < 0.5):
            count = chance.randint(1, len(data))
            broker.channel.dataReceived(data[:count])
            data = data[count:]
        elif unanswered:
            index = chance.choice(sorted(unanswered))
            unanswered.remove(index)
            respond(broker.requests[index])
        while seen < len(broker.requests):
            waiting = {i for i in range(seen) if i not in broker.answered()}
            assert not waiting or (len(waiting) < MAX_AWAITING and {kinds[i] for i in [*waiting, seen]} == {"p"})
            unanswered.add(seen)
            seen += 1
    assert broker.answered() == handled(broker) == list(range(len(kinds)))
    assert not broker.channel.muted


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from("pqhs"), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_whatever_is_answered_at_once_and_however_slowly_it_is_read(kinds: list[str], chance: Random) -> None:
    """p, h: a Produce and another, answered at once; q, s: later. Nothing is handled while an answer is unread."""
    broker = Broker()
    broker.slow = {i for i, kind in enumerate(kinds) if kind in "qs"}
    data = b"".join(produce(i) if kind in "pq" else heartbeat(i) for i, kind in enumerate(kinds))
    transport = broker.transport
    unanswered: set[int] = set()
    seen = 0
    for _ in range(100 * len(kinds)):
        transport.full = chance.random() < 0.5
        match chance.choice("dar"):
            case "d" if data:
                count = chance.randint(1, len(data))
                before, held_back = len(broker.requests), transport.outgoing.queued_bytes
                broker.channel.dataReceived(data[:count])
                assert not held_back or len(broker.requests) == before
                data = data[count:]
            case "a" if unanswered:
                index = chance.choice(sorted(unanswered))
                unanswered.remove(index)
                respond(broker.requests[index])
            case "r" if transport.outgoing.queued_bytes:
                transport.outgoing.queued_bytes = 0
                broker.channel.drained()
        broker.clock.advance(0)
        unanswered.update(broker.slow & set(range(seen, len(broker.requests))))
        seen = len(broker.requests)
        in_flight = {i for i in unanswered if kinds[i] == "s"}
        assert not in_flight or in_flight == unanswered == {seen - 1}
    if not data and not unanswered and not transport.outgoing.queued_bytes:
        assert broker.answered() == handled(broker) == list(range(len(kinds)))
        assert not broker.channel.muted
    assert broker.answered() == sorted(broker.answered())
