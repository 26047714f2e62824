from __future__ import annotations

import asyncio

import pytest

from kafkapy.aio.base import from_awaitable, run, to_future
from kafkapy.clients.completion import CancelledError, Completion


def test_outcomes_pass_over() -> None:
    async def work() -> list[object]:
        value, error = Completion[int](), Completion[int]()
        futures = [to_future(value), to_future(error), to_future(Completion.of(3))]
        value.set_result(1)
        error.set_exception(KeyError("x"))
        return list(await asyncio.gather(*futures, return_exceptions=True))

    first, second, third = asyncio.run(work())
    assert (first, repr(second), third) == (1, "KeyError('x')", 3)


def test_cancelling_a_future_cancels_the_coroutine_below() -> None:
    cancelled: list[bool] = []

    async def core() -> None:
        try:
            await Completion[None]()
        except CancelledError:
            cancelled.append(True)
            raise

    async def work() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(run(core()), 0.01)

    asyncio.run(work())
    assert cancelled == [True]


def test_a_cancelled_core_cancels_the_future() -> None:
    async def work() -> None:
        completion: Completion[None] = Completion()
        future = to_future(completion)
        completion.cancel()
        with pytest.raises(asyncio.CancelledError):
            await future

    asyncio.run(work())


def test_a_users_coroutine_in_a_core() -> None:
    async def listener(value: int) -> int:
        await asyncio.sleep(0)
        return value + 1

    async def broken() -> None:
        raise ValueError("no")

    async def core() -> int:
        with pytest.raises(ValueError, match="no"):
            await from_awaitable(broken())
        return await from_awaitable(listener(1))

    async def work() -> int:
        return await run(core())

    assert asyncio.run(work()) == 2
