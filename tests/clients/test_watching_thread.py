"""The thread that watches sockets for loops that can't is there while there are sockets."""

from __future__ import annotations

import asyncio
import socket
import threading

import pytest

from kafkapy.clients import selector_loop
from kafkapy.clients.watching_thread import WatchingThread
from tests.waiting import wait_until


def count() -> int:
    return sum(thread.name == "kafkapy-sockets" for thread in threading.enumerate())


@pytest.fixture(autouse=True)
def short_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selector_loop, "_MAX_SELECT_SECONDS", 0.01)


def helper_of(loop: asyncio.AbstractEventLoop) -> WatchingThread:
    def post(f: object) -> bool:
        try:
            loop.call_soon_threadsafe(f)  # type: ignore[arg-type]
        except RuntimeError:
            return False
        return True

    return WatchingThread(post)


async def until(condition: object) -> None:
    while not condition():  # type: ignore[operator]
        await asyncio.sleep(0.005)


def test_it_ends_with_the_last_socket_and_the_next_one_has_a_new_one() -> None:
    async def main() -> None:
        helper = helper_of(asyncio.get_running_loop())
        ours, theirs = socket.socketpair()
        with ours, theirs:
            for _ in range(2):
                got: list[bytes] = []
                helper.add_reader(ours, lambda got=got: got.append(ours.recv(1)))  # type: ignore[misc]
                theirs.send(b"x")
                await until(lambda got=got: got == [b"x"])
                assert count() == 1
                helper.remove_reader(ours)
                await until(lambda: count() == 0)

    asyncio.run(main())


def test_it_ends_when_the_loop_is_closed() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:

        async def main() -> None:
            helper_of(asyncio.get_running_loop()).add_writer(ours, lambda: None)

        asyncio.run(main())
        wait_until(lambda: count() == 0)
