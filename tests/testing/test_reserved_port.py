"""A port that stays ours while nobody listens on it."""

from __future__ import annotations

import socket

import pytest

from kafkapy.testing.reserved_port import ReservedPort


def test_a_server_may_come_and_go() -> None:
    reserved = ReservedPort()
    for _ in range(2):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((reserved.host, reserved.port))
        with socket.create_server((reserved.host, reserved.port)):
            socket.create_connection((reserved.host, reserved.port)).close()
    reserved.release()


def test_one_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"127.0.0.1:{port} can't be used: Address already in use"):
            ReservedPort(port=port)


def test_a_port_that_was_released_may_be_reserved() -> None:
    first = ReservedPort()
    first.release()
    second = ReservedPort(port=first.port)
    assert second.address == f"127.0.0.1:{first.port}"
    second.release()
