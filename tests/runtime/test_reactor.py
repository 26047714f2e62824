"""However many events there are, timers, calls of other threads and the end come in their time."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from kafkapy.runtime.pollers import OneSelector, TwoEpolls
from kafkapy.runtime.reactor import BrokerReactor
from tests.waiting import HANG_SECONDS


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


@pytest.fixture(params=[TwoEpolls, OneSelector])
def reactor(request: pytest.FixtureRequest) -> Iterator[CountingReactor]:
    made = CountingReactor(request.param())
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
    reactor.callLater(HANG_SECONDS, give_up)
    reactor.run(installSignalHandlers=False)
    assert not late, "the reactor was not stopped"


def test_events_are_served_without_looking_for_others(reactor: CountingReactor, restless: Restless) -> None:
    restless.at[1000] = reactor.stop
    run(reactor)
    assert restless.reads == 1000
    assert reactor.turns < 10


def test_a_timer_is_due_between_events(reactor: CountingReactor, restless: Restless) -> None:
    restless.at[1] = lambda: reactor.callLater(0.01, reactor.stop)
    run(reactor)
    assert restless.reads > 1


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
    restless.at[50] = lambda: reactor.callLater(1e-6, reactor.stop)
    run(reactor)
    assert restless.reads <= 51


def test_a_request_that_gives_way_comes_after_all_that_was_there(reactor: CountingReactor, restless: Restless) -> None:
    restless.at[50] = lambda: reactor.callLater(0, reactor.stop)
    run(reactor)
    assert restless.reads == 51


def test_requests_that_gave_way_share_a_slice(reactor: CountingReactor, restless: Restless) -> None:
    """In their order. When it is over, sockets are looked at first."""
    reactor.time_slice.seconds = 0
    seen: list[tuple[str, int]] = []

    def work(name: str, times: int) -> None:
        seen.append((name, restless.reads))
        if times:
            reactor.callLater(0, work, name, times - 1)
        else:
            reactor.stop()

    def both() -> None:
        work("a", 2)
        work("b", 9)

    restless.at[10] = both
    run(reactor)
    assert seen[:5] == [("a", 10), ("b", 10), ("a", 11), ("b", 12), ("a", 13)]


def test_a_request_that_gave_way_may_be_cancelled_or_put_off(reactor: CountingReactor, restless: Restless) -> None:
    called: list[str] = []

    def both() -> None:
        reactor.callLater(0, called.append, "cancelled").cancel()
        reactor.callLater(0, called.append, "put off").reset(0.01)
        reactor.callLater(0, called.append, "now")
        reactor.callLater(0.02, reactor.stop)

    restless.at[5] = both
    run(reactor)
    assert called == ["now", "put off"]


def test_a_failure_of_a_request_that_gave_way_is_logged(reactor: CountingReactor, restless: Restless) -> None:
    def fail() -> None:
        raise ValueError("of a test")

    reactor.callLater(0, fail)
    reactor.callLater(0, reactor.stop)
    run(reactor)


def test_a_timer_that_an_event_has_moved(reactor: CountingReactor, restless: Restless) -> None:
    timer = reactor.callLater(HANG_SECONDS / 2, reactor.stop)
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
    reactor.iterate(HANG_SECONDS)
    assert 1 <= restless.reads <= 2


def goes_on(reactor: CountingReactor, *more: Callable[[], object]) -> tuple[bool, float]:
    """Does work go on whose slice is over? And how much later it ends then. `more` have given way after it."""
    seen: list[tuple[bool, float]] = []

    def work() -> None:
        time_slice = reactor.time_slice
        time_slice.ends = before = reactor.meter.woke
        seen.append((not time_slice.is_over(), time_slice.ends - before))

    reactor.callLater(0, work)
    for function in more:
        reactor.callLater(0, function)
    reactor.meter._queued = lambda: 0.0
    reactor.iterate(0)
    return seen[0]


def test_while_nothing_else_waits_a_slice_is_renewed(reactor: CountingReactor) -> None:
    reactor.time_slice.max_seconds = HANG_SECONDS
    renewed, seconds = goes_on(reactor)
    assert renewed
    assert seconds > 0


def test_a_slice_that_is_renewed_ends_in_time_for_timers(reactor: CountingReactor) -> None:
    reactor.time_slice.max_seconds = 0
    assert goes_on(reactor) == (False, 0)


def test_a_slice_ends_if_there_is_something_to_be_read(reactor: CountingReactor, restless: Restless) -> None:
    reactor.time_slice.max_seconds = HANG_SECONDS
    assert goes_on(reactor) == (False, 0)


def test_a_slice_ends_if_other_work_gave_way(reactor: CountingReactor) -> None:
    reactor.time_slice.max_seconds = HANG_SECONDS
    assert goes_on(reactor, int) == (False, 0)


def test_a_slice_ends_if_a_thread_calls(reactor: CountingReactor) -> None:
    reactor.time_slice.max_seconds = HANG_SECONDS
    reactor.callLater(0, int)
    reactor.iterate(0)
    reactor.callFromThread(int)
    reactor.time_slice.ends = reactor.meter.woke
    reactor.meter._queued = lambda: 0.0
    assert reactor.time_slice.is_over()
