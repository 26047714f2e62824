from __future__ import annotations

from typing import Any

import pytest
from twisted.internet import defer
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from kafkapy.runtime.completion import CancelledError, Completion, spawn
from kafkapy.tx.base import from_deferred, run, to_deferred


def outcome(deferred: Deferred[Any]) -> Any:
    results: list[Any] = []
    deferred.addBoth(results.append)
    assert results, "nothing came"
    return results[0].value if isinstance(results[0], Failure) else results[0]


def test_outcomes_pass_over() -> None:
    value: Completion[int] = Completion()
    deferred = to_deferred(value)
    value.set_result(1)
    assert outcome(deferred) == 1
    assert isinstance(outcome(to_deferred(Completion[int].failed(KeyError("x")))), KeyError)


def test_cancelling_a_deferred_cancels_the_coroutine_below() -> None:
    cancelled: list[bool] = []

    async def core() -> None:
        try:
            await Completion[None]()
        except CancelledError:
            cancelled.append(True)
            raise

    deferred = run(core())
    deferred.cancel()
    assert isinstance(outcome(deferred), defer.CancelledError)
    assert cancelled == [True]


def test_a_users_deferred_in_a_core() -> None:
    waiting: Deferred[int] = Deferred()

    async def core() -> int:
        with pytest.raises(ValueError, match="no"):
            await from_deferred(defer.fail(ValueError("no")))
        return 1 + await from_deferred(waiting)

    task = spawn(core())
    assert not task.done
    waiting.callback(4)
    assert task.result() == 5
