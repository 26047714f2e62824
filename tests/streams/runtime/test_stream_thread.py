"""How a thread ends."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.streams.errors import StreamsException, TaskMigratedException
from kafkapy.streams.runtime.stream_thread import StreamThread


class _Tasks:
    """The first close fails."""

    def __init__(self, error: Exception) -> None:
        self.lock = threading.RLock()
        self.closes: list[bool] = []
        self._error = error

    def close(self, clean: bool) -> None:
        self.closes.append(clean)
        if len(self.closes) == 1:
            raise self._error


@pytest.mark.parametrize("error", [TaskMigratedException("fenced"), StreamsException("refused")])
def test_tasks_that_another_instance_has_are_no_failure(error: Exception) -> None:
    failures: list[BaseException] = []
    tasks: Any = _Tasks(error)
    consumer = SimpleNamespace(subscribe=lambda *args, **more: None, wakeup=lambda: None)
    clients: Any = SimpleNamespace(consumer=consumer, close=lambda: None)
    unused: Any = None
    thread = StreamThread(
        "t", unused, ["in"], None, tasks, clients, unused, lambda _, failure: failures.append(failure), unused
    )
    thread.stop()
    thread.run()
    assert tasks.closes == [True, False]
    assert failures == ([] if isinstance(error, TaskMigratedException) else [error])
