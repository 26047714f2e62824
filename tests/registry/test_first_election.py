from __future__ import annotations

from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock

from kafkapy.registry.first_election import FirstElection


def waiting(election: FirstElection, order: list[str], name: str) -> None:
    def go_on() -> Deferred[str]:
        return succeed(name)

    election.then(go_on).addCallback(order.append)


def test_writes_wait_for_the_first_election_and_no_other() -> None:
    clock, order = Clock(), list[str]()
    election = FirstElection(clock, 10)
    waiting(election, order, "first")
    waiting(election, order, "second")
    clock.advance(9)
    assert order == []
    election.end()
    assert order == ["first", "second"]
    waiting(election, order, "third")
    election.end()
    assert order == ["first", "second", "third"]
    assert not clock.getDelayedCalls()


def test_after_its_time_nothing_waits() -> None:
    clock, order = Clock(), list[str]()
    election = FirstElection(clock, 10)
    waiting(election, order, "first")
    clock.advance(10)
    waiting(election, order, "second")
    assert order == ["first", "second"]
    election.end()
