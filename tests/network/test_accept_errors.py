"""Twisted's listening port, whose socket has nothing to accept any more."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from twisted.internet.protocol import ServerFactory

from kafkapy.network.accept_errors import QUIET_SECONDS, AcceptErrors
from kafkapy.network.transport import PlaintextPort
from kafkapy.runtime.reactor import BrokerReactor


class Failing:
    """A listening socket of which each `accept` fails, the first two times in the given way."""

    def __init__(self, first: int) -> None:
        self.errors = [first] * 2

    def accept(self) -> tuple[socket.socket, Any]:
        raise OSError(self.errors.pop() if self.errors else errno.EAGAIN, "as the test wants")


class Factory(ServerFactory):
    def free_slots(self) -> int:
        return 5


class Errors(AcceptErrors):
    def __init__(self) -> None:
        self.seconds = 0.0
        super().__init__(lambda: self.seconds)


@pytest.fixture
def errors() -> Iterator[Errors]:
    observer = Errors()
    observer.start()
    yield observer
    observer.stop()


def accept(error: int) -> None:
    factory: Any = Factory()
    port: Any = PlaintextPort(0, factory, interface="127.0.0.1", reactor=BrokerReactor())
    port.startListening()
    listening, port.socket = port.socket, Failing(error)
    port.doRead()
    listening.close()


def test_no_descriptor_is_free(errors: Errors, caplog: pytest.LogCaptureFixture) -> None:
    accept(errno.EMFILE)
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "Too many open files" in caplog.text
    assert "ulimit -n" in caplog.text


def test_another_error(errors: Errors, caplog: pytest.LogCaptureFixture) -> None:
    accept(errno.ENOBUFS)
    assert os.strerror(errno.ENOBUFS) in caplog.text


def test_one_line_in_ten_seconds(errors: Errors, caplog: pytest.LogCaptureFixture) -> None:
    for errors.seconds in (0, 1, QUIET_SECONDS - 1, QUIET_SECONDS):
        accept(errno.ENFILE)
    assert len(caplog.records) == 2


def test_nobody_waits(errors: Errors, caplog: pytest.LogCaptureFixture) -> None:
    accept(errno.EAGAIN)
    assert not caplog.records
