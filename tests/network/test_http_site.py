"""When and for how long a site tries to have its address. `tests/network/test_metrics_page.py` asks one for pages."""

from __future__ import annotations

import errno
import logging
import os
import socket
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.error import CannotListenError
from twisted.internet.testing import MemoryReactorClock

from kafkapy.network.http_site import LISTEN_ATTEMPTS, RETRY_SECONDS, HttpSite
from kafkapy.network.socket_server import ListenError


class Reactor(MemoryReactorClock):
    """The first attempts to listen fail with the problems given."""

    def __init__(self, *problems: OSError) -> None:
        super().__init__()
        self.problems = list(problems)
        self.attempts = 0

    def listenTCP(self, port: int, factory: Any, backlog: int = 50, interface: str = "") -> Any:
        self.attempts += 1
        if self.problems:
            raise CannotListenError(interface, port, self.problems.pop(0))
        return super().listenTCP(port, factory, backlog, interface)


def taken(times: int = 1) -> list[OSError]:
    return [OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE)) for _ in range(times)]


def listen(reactor: Reactor) -> list[Any]:
    """Holds the outcome once there is one."""
    outcome: list[Any] = []
    Deferred.fromCoroutine(HttpSite(reactor, {}).listen("127.0.0.1", 9404, "a.listener")).addBoth(outcome.append)
    return outcome


def test_a_free_port_is_had_at_once() -> None:
    assert listen(Reactor())


def test_a_port_that_is_taken_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    reactor = Reactor(*taken(3))
    with caplog.at_level(logging.WARNING):
        outcome = listen(reactor)
        for _ in range(3):
            assert not outcome
            reactor.advance(RETRY_SECONDS)
    assert outcome
    assert reactor.attempts == 4
    assert [record.getMessage() for record in caplog.records] == [
        "a.listener=127.0.0.1:9404 is taken. Trying again for 10 s"
    ]


def test_a_port_that_stays_taken_is_an_error_that_says_what_to_do() -> None:
    reactor = Reactor(*taken(LISTEN_ATTEMPTS))
    outcome = listen(reactor)
    reactor.pump([RETRY_SECONDS] * (LISTEN_ATTEMPTS - 1))
    (failure,) = outcome
    assert failure.check(ListenError)
    assert str(failure.value) == (
        "a.listener=127.0.0.1:9404 can't be bound: Address already in use. Another process uses the port (`ss -ltnp` names it): "
        "stop it or choose another port in a.listener."
    )


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (OSError(errno.EADDRNOTAVAIL, ""), "Cannot assign requested address. This machine has no such address"),
        (OSError(errno.EACCES, ""), "Permission denied. Only privileged processes may use ports below 1024"),
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "This machine cannot resolve that host name"),
    ],
)
def test_what_does_not_pass_is_not_tried_again(problem: OSError, said: str) -> None:
    reactor = Reactor(problem)
    (failure,) = listen(reactor)
    assert said in str(failure.value)
    assert reactor.attempts == 1
