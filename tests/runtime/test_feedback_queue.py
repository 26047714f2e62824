"""Connections that were quick are served before those that were not, and neither level starves."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Iterator

import pytest

from kafkapy.network import socket_server
from kafkapy.network.channel import KafkaChannel
from kafkapy.network.request import Request
from kafkapy.runtime.feedback_queue import EVENTS_TO_RECLASSIFY, SLOW_EVENT_SECONDS
from kafkapy.runtime.pollers import OneSelector, Pollers, TwoEpolls
from kafkapy.runtime.time_slice import SLICE_SECONDS
from tests.network.loopback import Loopback, LoopbackClient
from tests.waiting import HANG_SECONDS

MakeLoopback = Callable[..., Loopback]
SLOW_SEND_SECONDS = 4 * SLOW_EVENT_SECONDS


class Clock:
    """The reactor's time: it passes only where a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class DirectDescriptor:
    """A server that notes which clients it has served, by client, and takes long for those in `slow`."""

    def __init__(self, loop: Loopback, clock: Clock) -> None:
        self.loop = loop
        self.clock = clock
        meter = loop.reactor.meter
        meter._cpu = meter._queued = lambda: 0.0
        self.port = loop.listen()
        self.order: list[str] = []
        self.slow: set[str] = set()
        self.waited = 0.0
        """For how long those in `slow` had no core."""
        self._names: dict[str, str] = {}
        loop.handle = self._handle  # type: ignore[method-assign]
        loop.server._handler = self._handle

    def connect(self, name: str) -> LoopbackClient:
        before = self.loop.server.connection_count
        client = self.loop.connect(self.port)
        self.loop.until(lambda: self.loop.server.connection_count > before)
        self._names[str(client.socket.getsockname()[1])] = name
        return client

    def _handle(self, request: Request) -> None:
        name = self._names[request.context.connection_id.split(":")[-1].split("-")[0]]
        self.order.append(name)
        if name in self.slow:
            self.clock.now += SLOW_SEND_SECONDS
            self.waited += SLOW_SEND_SECONDS
        self.loop.answer(request)

    def others_have_the_core(self) -> None:
        """While it takes long for a slow client, from now on."""
        meter = self.loop.reactor.meter
        meter._queued = lambda: self.waited
        meter.read_cpu()

    def waits(self, client: LoopbackClient) -> bool:
        return self._fileno(client) in self.loop.reactor._pollers.second

    def until_arrived(self, client: LoopbackClient) -> None:
        """What it has sent; a busy kernel may take more turns than the reactor does meanwhile."""
        assert select.select([self._fileno(client)], [], [], HANG_SECONDS)[0]

    def _fileno(self, client: LoopbackClient) -> int:
        """The server's end."""
        (transport,) = (
            channel.transport
            for channel in self.loop.server._channels
            if channel.transport.getPeer().port == client.socket.getsockname()[1]
        )
        fileno: int = transport.fileno()
        return fileno

    def ask(self, client: LoopbackClient) -> None:
        """A request and its answer."""
        client.heartbeat()
        client.response()

    def trusted(self, name: str) -> LoopbackClient:
        """One that has proved to be quick."""
        client = self.connect(name)
        for _ in range(EVENTS_TO_RECLASSIFY):
            self.ask(client)
        assert not self.waits(client)
        return client


@pytest.fixture(params=[TwoEpolls, OneSelector])
def served(request: pytest.FixtureRequest, make_loopback: MakeLoopback) -> DirectDescriptor:
    clock = Clock()
    return DirectDescriptor(make_loopback(pollers=request.param(), now=clock), clock)


def test_new_connections_wait_for_one_that_was_quick(served: DirectDescriptor) -> None:
    quick = served.trusted("quick")
    newcomers = [served.connect(f"new {n}") for n in range(10)]
    served.order.clear()
    for client in [*newcomers, quick]:
        client.heartbeat()
    served.loop.until(lambda: len(served.order) == 11)
    assert served.order == ["quick", *(f"new {n}" for n in range(10))]


def test_a_few_quick_requests_promote(served: DirectDescriptor) -> None:
    client = served.connect("a")
    for _ in range(EVENTS_TO_RECLASSIFY - 1):
        served.ask(client)
    assert served.waits(client)
    served.trusted("b")


def test_slow_requests_demote(served: DirectDescriptor) -> None:
    """One by itself does not. It is promoted when it has been quick again."""
    client = served.trusted("a")
    served.slow.add("a")
    for _ in range(EVENTS_TO_RECLASSIFY - 1):
        served.ask(client)
    assert not served.waits(client)
    served.ask(client)
    assert served.waits(client)
    served.slow.clear()
    for _ in range(EVENTS_TO_RECLASSIFY - 1):
        served.ask(client)
    assert served.waits(client)
    served.ask(client)
    assert not served.waits(client)


def test_time_without_a_core_does_not_demote(served: DirectDescriptor) -> None:
    client = served.trusted("a")
    served.slow.add("a")
    served.others_have_the_core()
    for _ in range(3 * EVENTS_TO_RECLASSIFY):
        served.ask(client)
        assert not served.waits(client)


def test_time_without_a_core_does_not_hinder_promotion(served: DirectDescriptor) -> None:
    client = served.connect("a")
    served.slow.add("a")
    served.others_have_the_core()
    for _ in range(EVENTS_TO_RECLASSIFY - 1):
        served.ask(client)
    assert served.waits(client)
    served.ask(client)
    assert not served.waits(client)


def test_a_quick_request_comes_before_the_next_slow_one(served: DirectDescriptor) -> None:
    """When those that wait have had their turn, the others are looked at again."""
    served.loop.reactor.time_slice.seconds = 0
    quick = served.trusted("quick")
    slow = [served.connect(f"slow {n}") for n in range(5)]
    served.slow.update(f"slow {n}" for n in range(5))
    served.order.clear()
    for client in slow:
        client.heartbeat()
    served.loop.until(lambda: len(served.order) == 2)
    quick.heartbeat()
    served.loop.until(lambda: len(served.order) == 6)
    assert served.order == ["slow 0", "slow 1", "quick", "slow 2", "slow 3", "slow 4"]


def test_the_second_level_does_not_starve(served: DirectDescriptor) -> None:
    """Beside connections that have a request in every turn, and work that gives way in every turn."""
    served.loop.reactor.time_slice.seconds = 0
    quick = served.trusted("quick")
    waiting = [served.connect(f"new {n}") for n in range(3)]
    reactor = served.loop.reactor
    gave_way: list[bool] = []

    def more() -> None:
        gave_way.append(True)
        served.clock.now += SLICE_SECONDS
        reactor.callLater(0, more)

    more()
    for client in waiting:
        client.heartbeat()
        served.until_arrived(client)
    served.order.clear()
    turns = 0
    while not {"new 0", "new 1", "new 2"} <= set(served.order):
        turns += 1
        assert turns <= 20
        quick.heartbeat()
        served.until_arrived(quick)
        served.loop.turns(1)
    assert len(gave_way) > 2
    assert served.order.count("quick") >= 3


def test_one_that_waits_hears_of_its_end(served: DirectDescriptor) -> None:
    client = served.connect("a")
    assert served.waits(client)
    client.socket.close()
    served.loop.until(lambda: not served.loop.server.connection_count)
    assert len(served.loop.reactor._pollers.second) == 0


# -- connections that close


@pytest.fixture
def closing(make_loopback: MakeLoopback, monkeypatch: pytest.MonkeyPatch) -> DirectDescriptor:
    """Each connection that closes takes a whole slice."""
    clock = Clock()
    served = DirectDescriptor(make_loopback(pollers=TwoEpolls(), now=clock), clock)
    closed = served.loop.server.channel_closed

    def close_slowly(channel: KafkaChannel) -> None:
        clock.now += 2 * SLICE_SECONDS
        closed(channel)

    monkeypatch.setattr(served.loop.server, "channel_closed", close_slowly)
    return served


def _close(served: DirectDescriptor, clients: list[LoopbackClient]) -> None:
    """Returns when the reactor has noticed all of them and closed the first."""
    near = {str(client.socket.getsockname()[1]) for client in clients}
    filenos = [
        channel.transport.fileno()
        for channel in served.loop.server._channels
        if channel.context.connection_id.split(":")[-1].split("-")[0] in near
    ]
    for client in clients:
        client.socket.close()
    for fileno in filenos:
        assert select.select([fileno], [], [], HANG_SECONDS)[0]
    served.loop.turns(1)


def test_connections_that_close_together_take_turns(closing: DirectDescriptor) -> None:
    clients = [closing.connect(f"{n}") for n in range(10)]
    _close(closing, clients)
    assert closing.loop.server.connection_count == 9
    closing.loop.turns(1)
    assert closing.loop.server.connection_count == 8


def test_each_connection_that_is_opened_closes_one(closing: DirectDescriptor, monkeypatch: pytest.MonkeyPatch) -> None:
    """However fast connections come and go, those that have gone do not pile up."""
    monkeypatch.setattr(socket_server, "monotonic", lambda: 0.0)  # the slice lasts: all that wait are made together
    server = closing.loop.server
    clients = [closing.connect(f"{n}") for n in range(10)]
    for _ in range(3):
        _close(closing, clients)
        clients = [closing.loop.connect(closing.port) for _ in range(10)]
        made = server.accepted + 10
        closing.loop.until(lambda made=made: server.accepted == made)  # type: ignore[misc]
        assert server.connection_count == 10


def test_a_closing_connection_that_is_aborted_is_forgotten(closing: DirectDescriptor) -> None:
    _close(closing, [closing.connect(f"{n}") for n in range(3)])
    for channel in list(closing.loop.server._channels):
        channel.abort("the test wants it")
    assert not closing.loop.reactor._queue._closing
    closing.loop.until(lambda: not closing.loop.server.connection_count)


# -- the pollers


@pytest.fixture(params=[TwoEpolls, OneSelector])
def pollers(request: pytest.FixtureRequest) -> Iterator[Pollers]:
    made = request.param()
    yield made
    made.close()


@pytest.fixture
def readable() -> Iterator[socket.socket]:
    near, far = socket.socketpair()
    far.send(b"x")
    yield near
    near.close()
    far.close()


def test_what_waits_shows_by_one_descriptor(pollers: Pollers, readable: socket.socket) -> None:
    fd = readable.fileno()
    pollers.second.add(fd)
    pollers.register(fd, pollers.readable)
    assert pollers.poll(0, 10) == [(pollers.fileno, pollers.readable)]
    assert pollers.poll_second(0, 10) == [(fd, pollers.readable)]
    pollers.unregister(fd)
    assert not pollers.second
    assert pollers.poll(0, 10) == []


def test_what_waits_is_shown_until_it_was_read(pollers: Pollers, readable: socket.socket) -> None:
    pollers.second.add(readable.fileno())
    pollers.register(readable.fileno(), pollers.readable)
    for _ in range(2):
        assert pollers.poll(0, 10)
        assert pollers.poll_second(0, 10)
    readable.recv(1)
    assert pollers.poll(0, 10) == []


def test_a_descriptor_moves_with_its_events(pollers: Pollers, readable: socket.socket) -> None:
    fd = readable.fileno()
    pollers.register(fd, pollers.readable)
    pollers.modify(fd, pollers.readable | pollers.writable)
    both = [(fd, pollers.readable | pollers.writable)]
    pollers.demote(fd)
    assert pollers.poll(0, 10) == [(pollers.fileno, pollers.readable)]
    assert pollers.poll_second(0, 10) == both
    pollers.promote(fd)
    assert pollers.poll(0, 10) == both
    assert pollers.poll_second(0, 10) == []


def test_one_that_is_not_polled_does_not_move(pollers: Pollers, readable: socket.socket) -> None:
    """A connection may have been paused since."""
    pollers.demote(readable.fileno())
    assert not pollers.second
    pollers.promote(readable.fileno())
    pollers.register(readable.fileno(), pollers.readable)
    assert pollers.poll(0, 10) == [(readable.fileno(), pollers.readable)]


def test_what_was_ready_and_is_watched_no_more_is_not_shown(pollers: Pollers, readable: socket.socket) -> None:
    pollers.second.add(readable.fileno())
    pollers.register(readable.fileno(), pollers.readable)
    assert pollers.poll(0, 10)
    pollers.unregister(readable.fileno())
    pollers.second.add(readable.fileno())
    pollers.register(readable.fileno(), pollers.writable)
    readable.send(b"x" * 10)
    assert pollers.poll(0, 10)
    assert pollers.poll_second(0, 10) == [(readable.fileno(), pollers.writable)]
