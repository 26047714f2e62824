from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import pytest
from kazoo.exceptions import ConnectionDropped

from kafkapy.zk.kazoo_internals import OpenKazooClient


def write(client: OpenKazooClient, error: Callable[[], BaseException]) -> None:
    with client._connection._socket_error_handling():
        raise error()


@pytest.mark.parametrize("error", [lambda: BrokenPipeError(32, "Broken pipe"), lambda: TimeoutError("Broken pipe")])
def test_a_socket_that_breaks_drops_the_connection(error: Callable[[], OSError]) -> None:
    with pytest.raises(ConnectionDropped, match="socket connection error: Broken pipe"):
        write(OpenKazooClient(), error)


def test_other_errors_pass() -> None:
    with pytest.raises(ZeroDivisionError):
        write(OpenKazooClient(), ZeroDivisionError)


def test_a_socket_that_breaks_leaves_no_cycle() -> None:
    class Broken(BrokenPipeError):
        """One that can be watched."""

    made: list[weakref.ref[Broken]] = []

    def broken() -> Broken:
        error = Broken(32, "Broken pipe")
        made.append(weakref.ref(error))
        return error

    client = OpenKazooClient()
    gc.disable()
    try:
        try:
            write(client, broken)
        except ConnectionDropped:
            pass
        assert [error() for error in made] == [None]
    finally:
        gc.enable()
