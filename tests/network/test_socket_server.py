"""Listeners and connections on real sockets of the loopback interface."""

from __future__ import annotations

import errno
import math
import os
import socket
import struct
from array import array
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import pytest
from twisted.internet.defer import Deferred

from kafkapy.common import page_cache
from kafkapy.common.broker import EndPoint
from kafkapy.common.rate import Rate
from kafkapy.network import socket_server
from kafkapy.network.channel import KafkaChannel
from kafkapy.network.connection_quotas import ConnectionLimits, ListenerLimits
from kafkapy.network.request import Request
from kafkapy.network.send_queue import Buffer
from kafkapy.network.socket_server import ALL_ADDRESSES, ListenError
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.file_records import FileRecords
from kafkapy.record.lazy_records import LazyRecords
from kafkapy.runtime.completion import Completion
from tests.network.loopback import Loopback

P = ParamSpec("P")
R = TypeVar("R")
MakeLoopback = Callable[..., Loopback]
LARGE = 8 << 20
"""More than the kernel's buffers of a connection take."""


# -- listeners


def test_who_connects_before_the_broker_is_ready_is_refused(make_loopback: MakeLoopback) -> None:
    """Who checks a broker's health by connecting must not take it for ready."""
    loop = make_loopback()
    port = loop.listen(accept=False)
    with pytest.raises(ConnectionRefusedError):
        loop.connect(port)
    loop.server.start_accepting(loop.handle)
    assert loop.connect(port).is_served()
    assert loop.server.bound_port("PLAINTEXT") == port


def test_an_address_that_is_taken_before_the_doors_open(make_loopback: MakeLoopback) -> None:
    first, second = make_loopback(), make_loopback()
    port = first.listen(accept=False)
    second.server.listen(EndPoint("127.0.0.1", port, "PLAINTEXT", "PLAINTEXT"))
    second.server.start_accepting(second.handle)
    with pytest.raises(ListenError, match=rf"127.0.0.1:{port}.*listeners"):
        first.server.start_accepting(first.handle)


def test_an_address_in_use(make_loopback: MakeLoopback) -> None:
    loop = make_loopback()
    port = loop.listen()
    with pytest.raises(ListenError, match=rf"127.0.0.1:{port}.*listeners"):
        loop.server.listen(EndPoint("127.0.0.1", port, "OTHER", "PLAINTEXT"))


def test_the_requests_context(make_loopback: MakeLoopback) -> None:
    loop = make_loopback()
    client = loop.connect(loop.listen("INTERNAL"))
    client.heartbeat()
    client.response()
    context = loop.requests[0].context
    assert (context.client_host, context.listener_name, context.client_id) == ("/127.0.0.1", "INTERNAL", "client")
    assert str(client.socket.getsockname()[1]) in context.connection_id


@pytest.mark.skipif(not ALL_ADDRESSES, reason="no IPv6 on this machine")
@pytest.mark.parametrize("wildcard", ["", "0.0.0.0"])
def test_a_wildcard_listener_serves_both_families(make_loopback: MakeLoopback, wildcard: str) -> None:
    loop = make_loopback()
    port = loop.listen(host=wildcard)
    for host in ("127.0.0.1", "::1"):
        client = loop.connect(port, host=host)
        client.heartbeat()
        client.response()
    assert [request.context.client_host for request in loop.requests] == ["/127.0.0.1", "/0:0:0:0:0:0:0:1"]


def test_after_stop_listening_nobody_comes_in_and_who_is_in_stays(make_loopback: MakeLoopback) -> None:
    loop = make_loopback()
    port = loop.listen()
    client = loop.connect(port)
    assert client.is_served()
    stopped: Deferred[None] = Deferred.fromCoroutine(loop.server.stop_listening())
    loop.until(lambda: stopped.called)
    with pytest.raises(ConnectionRefusedError):
        loop.connect(port)
    client.heartbeat()
    assert client.response()[0] == 2
    loop.server.shutdown()
    loop.until(client.is_closed)
    assert loop.server.connection_count == 0


def test_a_listener_goes_with_its_connections_and_comes_back(make_loopback: MakeLoopback) -> None:
    loop = make_loopback()
    stays, goes = loop.connect(loop.listen("PLAINTEXT")), loop.connect(loop.listen("GOES"))
    assert stays.is_served()
    assert goes.is_served()
    removed: Deferred[None] = Deferred.fromCoroutine(loop.server.remove_listener("GOES"))
    loop.until(lambda: removed.called and goes.is_closed())
    assert stays.is_served()
    assert loop.server.connection_count == 1
    assert loop.connect(loop.listen("GOES", accept=False)).is_served(), "the doors are open already"


# -- limits


def test_max_connections_lets_the_next_wait_until_one_goes(make_loopback: MakeLoopback) -> None:
    loop = make_loopback(ConnectionLimits(ListenerLimits(max_connections=2)))
    port = loop.listen()
    first, second, third = (loop.connect(port) for _ in range(3))
    assert first.is_served()
    assert second.is_served()
    assert not third.is_served()
    first.socket.close()
    assert third.response()[0] == 1
    assert loop.server.connection_count == 2


def test_those_that_wait_are_accepted_together(make_loopback: MakeLoopback) -> None:
    """A turn for each would let the queue of the listener overflow while a thousand clients connect."""
    loop = make_loopback()
    port = loop.listen()
    for _ in range(30):
        loop.connect(port)
    loop.turns(1)
    with pytest.raises(BlockingIOError):
        loop.server._ports["PLAINTEXT"].socket.accept()
    loop.until(lambda: loop.server.connection_count == 30)


def test_connections_are_made_in_turns(make_loopback: MakeLoopback, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = make_loopback()
    port = loop.listen()
    clients = [loop.connect(port) for _ in range(5)]
    monkeypatch.setattr(socket_server, "monotonic", lambda: math.inf)  # every turn is over
    for _ in range(2):
        loop.server._ports["PLAINTEXT"].doRead()
        assert loop.server.connection_count == 1
    loop.until(lambda: loop.server.connection_count == 5)
    assert all(client.is_served() for client in clients)


def test_what_one_listener_has_accepted_counts_for_all(
    make_loopback: MakeLoopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = make_loopback(ConnectionLimits(ListenerLimits(max_connections=20)))
    clients = [loop.connect(port) for port in (loop.listen("ONE"), loop.listen("TWO")) for _ in range(15)]
    monkeypatch.setattr(socket_server, "monotonic", lambda: math.inf)
    for port in loop.server._ports.values():
        port.doRead()
    loop.until(lambda: loop.server.connection_count == 20)
    loop.turns()
    assert loop.server.connection_count == 20
    assert loop.server.refused == 0, "nobody was let in to be thrown out"
    assert sum(client.is_closed() for client in clients) == 0


def test_a_listener_that_stops_closes_what_it_has_accepted(
    make_loopback: MakeLoopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = make_loopback()
    port = loop.listen()
    clients = [loop.connect(port) for _ in range(3)]
    monkeypatch.setattr(socket_server, "monotonic", lambda: math.inf)
    loop.server._ports["PLAINTEXT"].doRead()
    Deferred.fromCoroutine(loop.server.stop_listening())
    loop.until(lambda: all(client.is_closed() for client in clients[1:]))
    assert loop.server.connection_count == 1
    assert clients[0].is_served()


def test_of_those_that_wait_as_many_come_in_as_there_is_room_for(make_loopback: MakeLoopback) -> None:
    limits = ConnectionLimits(ListenerLimits(max_connections=20), {"SMALL": ListenerLimits(max_connections=10)})
    loop = make_loopback(limits)
    for name, expected in (("SMALL", 10), ("LARGE", 20)):
        port = loop.listen(name)
        for _ in range(15):
            loop.connect(port)
        loop.turns()
        assert loop.server.connection_count == expected


def test_an_inter_broker_listener_of_its_own_is_exempt(make_loopback: MakeLoopback) -> None:
    """Another broker comes in, and whoever of the clients was silent for longest has to go."""
    loop = make_loopback(ConnectionLimits(ListenerLimits(max_connections=2)), inter_broker="INTERNAL")
    port, internal = loop.listen("PLAINTEXT"), loop.listen("INTERNAL")
    silent, busy = loop.connect(port), loop.connect(port)
    assert silent.is_served()
    loop.now = 1.0
    assert busy.is_served()
    assert not loop.connect(port).is_served()
    assert loop.connect(internal).is_served()
    loop.until(silent.is_closed)
    assert busy.is_served()
    assert loop.server.connection_count == 2


def test_a_higher_limit_lets_those_in_who_wait(make_loopback: MakeLoopback) -> None:
    loop = make_loopback(ConnectionLimits(ListenerLimits(max_connections=1)))
    port = loop.listen()
    assert loop.connect(port).is_served()
    waiting = loop.connect(port)
    assert not waiting.is_served()
    loop.server.set_limits(ConnectionLimits(ListenerLimits(max_connections=5)))
    assert waiting.response()[0] == 1


def test_a_lower_limit_closes_who_is_beyond_it(make_loopback: MakeLoopback) -> None:
    loop = make_loopback()
    port = loop.listen()
    clients = [loop.connect(port) for _ in range(4)]
    for loop.now, client in enumerate(clients):
        assert client.is_served()
    loop.server.set_limits(ConnectionLimits(ListenerLimits(max_connections=1)))
    loop.until(lambda: loop.server.connection_count == 1)
    assert clients[3].is_served()


def test_who_comes_too_fast_waits(make_loopback: MakeLoopback) -> None:
    loop = make_loopback(ConnectionLimits(ListenerLimits(max_creation_rate=1)))
    port = loop.listen()
    assert all(loop.connect(port).is_served() for _ in range(11)), "what may come in ten seconds, and one more"
    waiting = loop.connect(port)
    assert not waiting.is_served()
    loop.server.set_limits(ConnectionLimits())
    assert waiting.response()[0] == 1


def test_the_wait_ends(make_loopback: MakeLoopback) -> None:
    loop = make_loopback(ConnectionLimits(ListenerLimits(max_creation_rate=10)), make_rate=lambda: Rate(2, 100))
    port = loop.listen()
    clients = [loop.connect(port) for _ in range(3)]
    for client in clients:
        client.heartbeat()
        loop.now += 0.2
    assert [client.response()[0] for client in clients] == [1, 1, 1]


def test_too_many_from_one_address_are_closed(make_loopback: MakeLoopback) -> None:
    loop = make_loopback(ConnectionLimits(max_connections_per_ip=1))
    port = loop.listen()
    first, second = loop.connect(port), loop.connect(port)
    loop.until(second.is_closed)
    assert first.is_served()
    first.socket.close()
    loop.until(lambda: loop.server.connection_count == 0)
    assert loop.connect(port).is_served()
    assert loop.server.refused == 1


def test_an_address_may_have_a_limit_of_its_own(make_loopback: MakeLoopback) -> None:
    limits = ConnectionLimits(max_connections_per_ip=0, max_connections_per_ip_overrides={"127.0.0.1": 2})
    loop = make_loopback(limits)
    port = loop.listen()
    clients = [loop.connect(port) for _ in range(3)]
    assert [client.is_served() for client in clients[:2]] == [True, True]
    loop.until(clients[2].is_closed)


# -- idle connections


@pytest.fixture
def idle_loop(make_loopback: MakeLoopback, monkeypatch: pytest.MonkeyPatch) -> Loopback:
    """Connections may be idle for 1 s of `loop.now`; looked after at every turn."""
    monkeypatch.setattr(socket_server, "IDLE_SCAN_SECONDS", 0)
    return make_loopback(ConnectionLimits(max_idle_ms=1000), send_buffer=1 << 16)


def test_idle_connections_are_closed(idle_loop: Loopback) -> None:
    port = idle_loop.listen()
    idle, busy = idle_loop.connect(port), idle_loop.connect(port)
    assert idle.is_served()
    idle_loop.now = 0.9
    assert busy.is_served()
    idle_loop.now = 1.1
    idle_loop.until(idle.is_closed)
    assert busy.is_served()
    idle_loop.now = 99
    idle_loop.server.set_limits(ConnectionLimits(max_idle_ms=-1))
    assert busy.is_served()


def test_who_waits_for_an_answer_is_not_idle(idle_loop: Loopback) -> None:
    idle_loop.hold = True
    client = idle_loop.connect(idle_loop.listen())
    client.heartbeat()
    idle_loop.until(lambda: len(idle_loop.requests) == 1)
    idle_loop.now = 10
    idle_loop.turns()
    idle_loop.answer(idle_loop.requests[0])
    assert client.response()[0] == 1
    idle_loop.now = 10.9
    idle_loop.turns()
    assert not client.is_closed()
    idle_loop.now = 11.1
    idle_loop.until(client.is_closed)


def test_who_leaves_the_answer_unread_is_idle(idle_loop: Loopback) -> None:
    idle_loop.records = bytes(LARGE)
    port = idle_loop.listen()
    stuck, slow = idle_loop.connect(port, 1 << 16), idle_loop.connect(port, 1 << 16)
    stuck.fetch()
    slow.fetch()
    idle_loop.until(lambda: len(idle_loop.requests) == 2)
    while idle_loop.server.connection_count == 2:
        assert idle_loop.now < 20, "who reads nothing is never idle"
        idle_loop.turns()
        idle_loop.now += 0.5
        for _ in range(4):
            slow.read_some()
            idle_loop.turns(2)
    assert slow.fetched() == idle_loop.records


# -- what is sent


@pytest.fixture
def large_file(tmp_path: Path) -> bytes:
    content = array("Q", range(LARGE // 8)).tobytes()
    (tmp_path / "log").write_bytes(content)
    return content


def slice_of(path: Path, position: int, size: int) -> FileRecords:
    return FileRecords(open(path, "rb"), position, size)


def test_a_large_slice_of_a_file_arrives_byte_for_byte_while_others_are_served(
    make_loopback: MakeLoopback, tmp_path: Path, large_file: bytes
) -> None:
    loop = make_loopback()
    port = loop.listen()
    loop.records = slice_of(tmp_path / "log", 100, LARGE - 300)
    reader, other = loop.connect(port), loop.connect(port)
    reader.fetch()
    reader.heartbeat()
    for _ in range(5):
        assert other.is_served()
    assert len(loop.requests) == 6, "the second request waits until the first is wholly answered"
    assert reader.fetched() == large_file[100 : LARGE - 200]
    assert reader.response()[0] == 2


class HeldReads:
    """Threads that do nothing before the test lets them."""

    def __init__(self) -> None:
        self.held: list[tuple[Callable[[], Any], Completion[Any]]] = []

    async def in_thread(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        done: Completion[R] = Completion()
        self.held.append((partial(function, *args, **kwargs), done))
        return await done

    def do(self) -> None:
        work, done = self.held.pop(0)
        try:
            done.set_result(work())
        except OSError as problem:
            done.set_exception(problem)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> HeldReads:
    """Nothing is ever in memory."""
    monkeypatch.setattr(page_cache, "is_cached", lambda *_: False)
    return HeldReads()


def test_a_slice_on_the_disk_keeps_nobody_else_waiting(
    make_loopback: MakeLoopback, reads: HeldReads, tmp_path: Path, large_file: bytes
) -> None:
    loop = make_loopback(cold_reads=reads.in_thread)
    port = loop.listen()
    loop.records = slice_of(tmp_path / "log", 0, LARGE)
    readers = [loop.connect(port), loop.connect(port)]
    for reader in readers:
        reader.fetch()
    loop.until(lambda: len(reads.held) == 2)
    other = loop.connect(port)
    assert other.is_served()
    transport = channel_of(loop.requests[0]).transport
    assert transport not in loop.reactor.getWriters(), "the reactor would turn without end"
    received = [b"", b""]
    while not all(len(data) == LARGE for data in received):
        assert len(reads.held) <= 2, "one piece of each connection at a time"
        if reads.held:
            reads.do()
        loop.turns(2)
        for index, reader in enumerate(readers):
            reader.read_some()
            if reader.has_frame():
                received[index] = reader.fetched()
    assert received == [large_file, large_file]


def test_a_client_that_goes_while_the_disk_is_read(
    make_loopback: MakeLoopback, reads: HeldReads, tmp_path: Path, large_file: bytes
) -> None:
    loop = make_loopback(cold_reads=reads.in_thread)
    loop.records = slice_of(tmp_path / "log", 0, LARGE)
    reader = loop.connect(loop.listen())
    reader.fetch()
    loop.until(lambda: reads.held != [])
    reader.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    reader.socket.close()
    reads.do()
    loop.until(lambda: loop.server.connection_count == 0)
    assert reads.held == []


def test_a_broker_that_closes_a_connection_while_the_disk_is_read(
    make_loopback: MakeLoopback, reads: HeldReads, tmp_path: Path, large_file: bytes
) -> None:
    loop = make_loopback(cold_reads=reads.in_thread)
    loop.records = slice_of(tmp_path / "log", 0, LARGE)
    reader = loop.connect(loop.listen())
    reader.fetch()
    loop.until(lambda: reads.held != [])
    channel_of(loop.requests[0]).abort("the test says so")
    loop.until(lambda: loop.server.connection_count == 0)
    reads.do()
    assert reader.is_closed()


def test_a_disk_that_fails_or_a_log_that_was_cut_ends_the_connection(
    make_loopback: MakeLoopback, reads: HeldReads, tmp_path: Path, large_file: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    loop = make_loopback(cold_reads=reads.in_thread)
    port = loop.listen()
    for broken in ("disk", "cut"):
        loop.records = slice_of(tmp_path / "log", 0, LARGE)
        reader = loop.connect(port)
        reader.fetch()
        loop.until(lambda: reads.held != [])
        if broken == "disk":
            with monkeypatch.context() as patch:
                patch.setattr(os, "posix_fadvise", fail)
                reads.do()
        else:
            os.truncate(tmp_path / "log", 0)
            reads.do()
        loop.until(lambda: loop.server.connection_count == 0)


class Failing(LazyRecords):
    def __len__(self) -> int:
        return 100_000

    async def next_piece(self) -> bytes:
        raise KafkaError(Errors.CORRUPT_MESSAGE, "a batch is broken")


def test_records_that_cannot_be_made_end_the_connection(make_loopback: MakeLoopback) -> None:
    loop = make_loopback()
    loop.records = Failing()
    reader = loop.connect(loop.listen())
    reader.fetch()
    loop.until(reader.is_closed)


def test_large_buffers_arrive_too(make_loopback: MakeLoopback, large_file: bytes) -> None:
    loop = make_loopback()
    loop.records = large_file
    client = loop.connect(loop.listen())
    for _ in range(2):
        client.fetch()
        assert client.fetched() == large_file


def channel_of(request: Request) -> KafkaChannel:
    assert isinstance(request.channel, KafkaChannel)
    return request.channel


def test_parts_arrive_in_order(make_loopback: MakeLoopback, tmp_path: Path) -> None:
    loop = make_loopback(send_buffer=1 << 12)
    (tmp_path / "log").write_bytes(bytes(range(256)) * 4096)
    parts: list[Buffer | FileRecords] = [
        b"start",
        slice_of(tmp_path / "log", 5, 700_000),
        b"",
        memoryview(b"between"),
        bytearray(b"x" * 100_000),
        slice_of(tmp_path / "log", 0, 1),
        slice_of(tmp_path / "log", 0, 0),
        slice_of(tmp_path / "log", 1, 3),
        *(bytes([i]) * 2000 for i in range(200)),
        b"end",
    ]
    expected = b"".join(part.read() if isinstance(part, FileRecords) else bytes(part) for part in parts)
    loop.hold = True
    client = loop.connect(loop.listen(), 1 << 12)
    client.heartbeat()
    loop.until(lambda: len(loop.requests) == 1)
    channel_of(loop.requests[0]).send_parts([*parts])
    loop.until(lambda: client.read_some() and len(client.received) >= len(expected))
    assert bytes(client.received) == expected


def test_a_client_that_goes_while_it_is_sent_to(make_loopback: MakeLoopback, tmp_path: Path, large_file: bytes) -> None:
    loop = make_loopback()
    port = loop.listen()
    for records in (slice_of(tmp_path / "log", 0, LARGE), large_file):
        loop.records = records
        client = loop.connect(port)
        client.fetch()
        loop.until(lambda: loop.server.connection_count == 1 and loop.requests != [])
        loop.requests.clear()
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.socket.close()
        loop.until(lambda: loop.server.connection_count == 0)
    assert loop.connect(port).is_served()


def test_the_server_hangs_up_after_the_answer(make_loopback: MakeLoopback, large_file: bytes) -> None:
    loop = make_loopback()
    loop.hold = True
    client = loop.connect(loop.listen())
    client.heartbeat()
    loop.until(lambda: len(loop.requests) == 1)
    channel_of(loop.requests[0]).send_parts([large_file])
    loop.requests[0].close_connection("test")
    loop.until(client.is_closed)
    assert bytes(client.received) == large_file
    assert loop.server.connection_count == 0


def test_shutdown_does_not_wait_for_slow_readers(make_loopback: MakeLoopback, large_file: bytes) -> None:
    loop = make_loopback()
    loop.records = large_file
    client = loop.connect(loop.listen())
    client.fetch()
    loop.until(lambda: len(loop.requests) == 1)
    loop.server.shutdown()
    loop.until(lambda: loop.server.connection_count == 0)
    loop.until(client.is_closed)
    assert len(client.received) < len(large_file)


def test_a_file_that_was_cut_off_ends_the_connection(make_loopback: MakeLoopback, tmp_path: Path) -> None:
    loop = make_loopback()
    (tmp_path / "log").write_bytes(bytes(1000))
    loop.records = slice_of(tmp_path / "log", 500, 1000)
    client = loop.connect(loop.listen())
    client.fetch()
    loop.until(client.is_closed)
    loop.until(lambda: loop.server.connection_count == 0)


# -- what is received


def test_requests_in_pieces_and_in_heaps(make_loopback: MakeLoopback) -> None:
    loop = make_loopback()
    client = loop.connect(loop.listen())
    for _ in range(50):
        client.heartbeat()
    assert [client.response()[0] for _ in range(50)] == list(range(1, 51))
    pieces: Any = _Pieces()
    piece, client.socket = client.socket, pieces
    client.heartbeat()
    client.socket = piece
    for byte in pieces.data:
        piece.send(bytes([byte]))
        loop.turns(1)
    assert client.response()[0] == 51


class _Pieces:
    """Takes what is sent."""

    data = b""

    def sendall(self, data: bytes) -> None:
        self.data += data


@pytest.mark.parametrize("garbage", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"\0\0\0\2\xff\xff"])
def test_other_protocols_are_hung_up_on(make_loopback: MakeLoopback, garbage: bytes) -> None:
    loop = make_loopback()
    port = loop.listen()
    client, other = loop.connect(port), loop.connect(port)
    client.socket.sendall(garbage)
    loop.until(client.is_closed)
    assert other.is_served()


def test_a_client_that_goes_is_forgotten(make_loopback: MakeLoopback) -> None:
    loop = make_loopback()
    port = loop.listen()
    client = loop.connect(port)
    assert client.is_served()
    client.socket.close()
    loop.until(lambda: loop.server.connection_count == 0)
    assert not loop.server.quotas._by_ip


def test_connections_that_end_at_once_hold_up_no_other(make_loopback: MakeLoopback) -> None:
    """When the slice is over, they are set aside; what was sent before is handled, and each is closed in the end."""
    loop = make_loopback()
    loop.reactor.time_slice.seconds = -1
    port = loop.listen()
    clients = [loop.connect(port) for _ in range(20)]
    other = loop.connect(port)
    loop.until(lambda: loop.server.connection_count == 21)
    clients[7].heartbeat()
    for client in clients:
        client.socket.close()
    other.heartbeat()
    loop.turns(1)
    assert len(loop.requests) >= 1
    assert loop.server.connection_count >= 19
    loop.until(lambda: loop.server.connection_count == 1)
    assert len(loop.requests) == 2
    assert other.is_served()


class FastIps:
    """Says of every connection that it came too fast."""

    enabled = True

    def throttle_ms(self, ip: str) -> int:
        return 10


def test_what_comes_too_fast_is_closed_unread_after_a_while(
    make_loopback: MakeLoopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few are kept, to slow their clients down; others are closed at once."""
    monkeypatch.setattr("kafkapy.network.socket_server.MAX_DELAYED_REFUSALS", 2)
    loop = make_loopback()
    loop.server._ip_rates = FastIps()
    port = loop.listen()
    clients = [loop.connect(port) for _ in range(5)]
    for client in clients:
        client.heartbeat()
        loop.until(client.is_closed)
    assert not loop.requests
    assert loop.server.connection_count == 0
    assert loop.server.refused == 5
    assert loop.server._kept_refused == 0
