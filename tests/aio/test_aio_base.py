from __future__ import annotations

import asyncio

import pytest

from kafkapy.aio.base import ask, from_awaitable, until
from kafkapy.runtime.completion import CancelledError, Completion


def test_outcomes_pass_over() -> None:
    async def work() -> list[object]:
        value, error = Completion[int](), Completion[int]()
        waiting = [asyncio.create_task(until(outcome)) for outcome in (value, error, Completion.of(3))]
        await asyncio.sleep(0)
        value.set_result(1)
        error.set_exception(KeyError("x"))
        return list(await asyncio.gather(*waiting, return_exceptions=True))

    first, second, third = asyncio.run(work())
    assert (first, repr(second), third) == (1, "KeyError('x')", 3)


def test_who_is_cancelled_leaves_a_completion_as_it_is_and_ends_what_he_asked() -> None:
    cancelled: list[bool] = []

    async def core(completion: Completion[int]) -> int:
        try:
            return await completion
        except CancelledError:
            cancelled.append(True)
            raise

    async def work() -> None:
        completion = Completion[int]()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(until(completion), 0.01)
        assert not completion.done
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(ask(core(completion)), 0.01)
        assert cancelled == [True]
        completion.set_result(3)
        assert await until(completion) == 3

    asyncio.run(work())


def test_a_cancelled_core_cancels_who_waits() -> None:
    async def work() -> None:
        completion: Completion[None] = Completion()
        completion.cancel()
        with pytest.raises(asyncio.CancelledError):
            await until(completion)

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
        return await ask(core())

    assert asyncio.run(work()) == 2
