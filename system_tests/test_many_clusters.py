"""A thousand clusters one after another in one process: nothing of any is left."""

from __future__ import annotations

import gc
import logging
import os
import threading

import psutil
import pytest

from kafkapy.testing import KafkaCluster

CLUSTERS = int(os.environ.get("KAFKAPY_MANY_CLUSTERS", "1000"))
WARM_UP = 50
"""Until caches and the allocator's arenas have what they will have."""
MOST_GROWTH = 1 << 20
"""Bytes of memory, all in all: the allocator is not exact to the page."""


def what_there_is() -> tuple[int, int, int]:
    """Threads, descriptors, children of this process."""
    return threading.active_count(), len(os.listdir("/proc/self/fd")), len(psutil.Process().children(recursive=True))


def use_one() -> None:
    with KafkaCluster(topics="t") as kafka:
        kafka.produce_many("t", ["a record"])
        assert [record.value for record in kafka.records("t")] == [b"a record"]
        directory = kafka.directory
    assert not directory.exists()


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.root.manager, "disable", logging.WARNING)  # pytest keeps what is logged: 1 KB a line
    for _ in range(WARM_UP):
        use_one()
    gc.collect()
    before, memory = what_there_is(), psutil.Process().memory_info().rss
    for number in range(CLUSTERS):
        use_one()
        assert what_there_is() == before, f"after cluster {number}"
        if number % 20 == 0:
            gc.collect()  # left to itself it lets cycles wait until they are a quarter of all that there is, some 10 MB here
    gc.collect()
    assert psutil.Process().memory_info().rss - memory < MOST_GROWTH
