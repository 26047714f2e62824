"""However many events there are, timers, calls of other threads and the end come in their time."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from kafkapy.network.reactor import BrokerReactor

PATIENCE_SECONDS = 10


class CountingReactor(BrokerReactor):
    """Counts how often it looks for timers and calls."""

    turns = 0

    def runUntilCurrent(self) -> None:
        self.turns += 1
        super().runUntilCurrent()


class Restless:
    """A descriptor that has something to be read again as soon as it was read."""

    def __init__(self) -> None:
        self.reads = 0
        self.at: dict[int, Callable[[], object]] = {}
        """What to do at which read."""
        self._near, self._far = socket.socketpair()
        self._far.send(b"x")

    def fileno(self) -> int:
        return self._near.fileno()

    def logPrefix(self) -> str:
        return "restless"

    def doRead(self) -> None:
        self._near.recv(1)
        self._far.send(b"x")
        self.reads += 1
        self.at.get(self.reads, int)()

    def connectionLost(self, reason: object) -> None:
        self._near.close()
        self._far.close()


@pytest.fixture
def reactor() -> Iterator[CountingReactor]:
    made = CountingReactor()
    yield made
    for reader in made.removeAll():
        reader.connectionLost(None)


@pytest.fixture
def restless(reactor: CountingReactor) -> Restless:
    descriptor = Restless()
    reactor.addReader(descriptor)
    return descriptor


def run(reactor: CountingReactor) -> None:
    """Until it is stopped."""

    def give_up() -> None:
        reactor.crash()
        late.append(True)

    late: list[bool] = []
    reactor.callLater(PATIENCE_SECONDS, give_up)
    reactor.run(installSignalHandlers=False)
    assert not late, "the reactor was not stopped"


def test_events_are_served_without_looking_for_others(reactor: CountingReactor, restless: Restless) -> None:
    restless.at[1000] = reactor.stop
    run(reactor)
    assert restless.reads == 1000
    assert reactor.turns < 10


def test_a_timer_is_due_between_events(reactor: CountingReactor, restless: Restless) -> None:
    reactor.callLater(0.01, reactor.stop)
    run(reactor)
    assert restless.reads


def test_a_timer_without_events(reactor: CountingReactor) -> None:
    reactor.callLater(0.02, reactor.stop)
    reactor.callLater(0.01, int)
    run(reactor)


def test_a_timer_that_is_farther_away_than_epoll_can_wait(reactor: CountingReactor, restless: Restless) -> None:
    reactor.callLater(10**8, int)
    restless.at[50] = reactor.stop
    reactor.run(installSignalHandlers=False)
    assert restless.reads == 50
    assert reactor.turns < 10


def test_a_timer_that_an_event_has_set(reactor: CountingReactor, restless: Restless) -> None:
    restless.at[50] = lambda: reactor.callLater(0, reactor.stop)
    run(reactor)
    assert restless.reads == 50


def test_a_timer_that_an_event_has_moved(reactor: CountingReactor, restless: Restless) -> None:
    timer = reactor.callLater(PATIENCE_SECONDS / 2, reactor.stop)
    restless.at[50] = lambda: timer.reset(0)
    run(reactor)
    assert restless.reads == 50


def test_a_timer_that_an_event_has_cancelled(reactor: CountingReactor, restless: Restless) -> None:
    called: list[bool] = []
    timer = reactor.callLater(0.01, called.append, True)
    reactor.callLater(0.03, reactor.stop)
    restless.at[1] = timer.cancel
    run(reactor)
    assert not called


def test_a_call_of_another_thread(reactor: CountingReactor, restless: Restless) -> None:
    caller = threading.Thread(target=lambda: reactor.callFromThread(reactor.stop))
    restless.at[50] = caller.start
    run(reactor)
    caller.join()
    assert restless.reads >= 50


def test_a_turn_by_hand_ends(reactor: CountingReactor, restless: Restless) -> None:
    reactor.iterate(0)
    reactor.iterate(PATIENCE_SECONDS)
    assert 1 <= restless.reads <= 2
