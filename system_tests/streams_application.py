"""An instance of a Streams application with a count, a windowed sum, a join and a suppressed count.

    python -m system_tests.streams_application BOOTSTRAP DIRECTORY

DIRECTORY has the stores. SIGTERM ends it; SIGUSR1 writes what the stores hold to DIRECTORY/dump.json. An error of a thread
ends it with status 1.
"""

from __future__ import annotations

import json
import logging
import signal
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from kafkapy.streams import (
    Consumed,
    Grouped,
    JoinWindows,
    KafkaStreams,
    Materialized,
    Produced,
    Serdes,
    StreamJoined,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    Topology,
)
from kafkapy.streams.options.suppressed import BufferConfig
from kafkapy.streams.task.stream_task import StreamTask

APPLICATION = "faults"
WINDOW_MS = 5_000
JOIN_MS = 2_000
INPUTS = ("words", "left", "right")
OUTPUTS = ("counts", "sums", "finals", "joined")
_GRACE = timedelta(days=1)


def topology() -> Topology:
    """Count of values, sums and final counts of keys by window, pairs of left and right."""
    builder, string, long = StreamsBuilder(), Serdes.string(), Serdes.long()
    words = builder.stream("words", Consumed.with_(string, string))
    (
        words.group_by(lambda key, value: f"word-{int(value) % 20}", Grouped.with_(string, string))
        .count(materialized=Materialized.as_("counts"))
        .to_stream()
        .to("counts", Produced.with_(string, long))
    )
    by_key = words.group_by_key(Grouped.with_(string, string))
    (
        by_key.windowed_by(TimeWindows.of_size_and_grace(timedelta(milliseconds=WINDOW_MS), _GRACE))
        .aggregate(
            lambda: 0,
            lambda key, value, total: total + int(value),
            materialized=Materialized.as_("sums").with_value_serde(long),
        )
        .to_stream(lambda window, total: f"{window.key}@{window.window.start}")
        .to("sums", Produced.with_(string, long))
    )
    (
        by_key.windowed_by(TimeWindows.of_size_with_no_grace(timedelta(milliseconds=WINDOW_MS)))
        .count(materialized=Materialized.as_("window-counts"))
        .suppress(Suppressed.until_window_closes(BufferConfig.unbounded()))
        .to_stream(lambda window, count: f"{window.key}@{window.window.start}")
        .to("finals", Produced.with_(string, long))
    )
    left, right = (builder.stream(name, Consumed.with_(string, string)) for name in ("left", "right"))
    windows = JoinWindows.of_time_difference_and_grace(JOIN_MS, _GRACE)
    (
        left.join(right, lambda one, other: f"{one}+{other}", windows, StreamJoined.with_(string, string, string)).to(
            "joined", Produced.with_(string, string)
        )
    )
    return builder.build()


def configs(bootstrap: str, directory: Path) -> dict[str, Any]:
    return {
        "application.id": APPLICATION,
        "bootstrap.servers": bootstrap,
        "state.dir": str(directory),
        "processing.guarantee": "exactly_once_v2",
        "num.standby.replicas": 1,
        "acceptable.recovery.lag": 100,
        "probing.rebalance.interval.ms": 60_000,
        "commit.interval.ms": 200,
        "statestore.cache.max.bytes": 0,
        "session.timeout.ms": 6_000,
        "heartbeat.interval.ms": 1_500,
        "transaction.timeout.ms": 10_000,
        "auto.offset.reset": "earliest",
    }


def dump(streams: KafkaStreams, path: Path) -> None:
    """Write {"active" or "copy": {task: {store: [[key, value], ...]}}}."""
    found: dict[str, dict[str, dict[str, list[list[str]]]]] = {"active": {}, "copy": {}}
    for thread in streams._all_threads():
        with thread.tasks.lock:
            for kind, tasks in (("active", thread.tasks.tasks), ("copy", thread.tasks.copies)):
                for id, task in tasks.items():
                    if task.topology.stores and not thread.tasks.is_restoring:
                        found[kind][str(id)] = {name: _content(task, name) for name in task.topology.stores}
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(found))
    temporary.replace(path)


def _content(task: StreamTask, name: str) -> list[list[str]]:
    return sorted([repr(key), repr(value)] for key, value in _entries(task.topology.stores[name]))


def _entries(store: Any) -> Iterator[tuple[Any, Any]]:
    """What a store holds; of a suppression's buffer nothing but its size is compared."""
    if hasattr(store, "num_records"):
        yield "buffered", store.num_records()
    elif hasattr(store, "all"):
        yield from store.all()


def main() -> int:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(threadName)s %(name)s %(message)s")
    directory = Path(sys.argv[2])
    streams = KafkaStreams(topology(), configs(sys.argv[1], directory))
    ended, asked = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    def fail(error: BaseException) -> None:
        failures.append(error)
        ended.set()

    streams.set_uncaught_exception_handler(fail)
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    signal.signal(signal.SIGUSR1, lambda *_: asked.set())
    streams.start()
    while not ended.wait(0.1):
        if asked.is_set():
            asked.clear()
            dump(streams, directory / "dump.json")
    streams.close(timedelta(seconds=30))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
