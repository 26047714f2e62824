"""Blocking work beside an event loop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from kafkapy.clients.completion import Completion
from kafkapy.clients.driver import Driver

T = TypeVar("T")


def run_in_daemon_thread(driver: Driver, f: Callable[[], T]) -> Completion[T]:
    """The result of `f`, which runs in a thread of its own.

    Not in a pool: the interpreter waits for pools at its exit, and a look-up of a name may hang for a minute.
    """
    completion: Completion[T] = Completion()

    def run() -> None:
        try:
            value = f()
        except BaseException as error:
            failure = error
            driver.call_soon_threadsafe(lambda: completion.set_exception(failure))
        else:
            driver.call_soon_threadsafe(lambda: completion.set_result(value))

    threading.Thread(target=run, name="kafkapy-blocking", daemon=True).start()
    return completion
