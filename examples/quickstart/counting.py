"""Streams counts the lines of each file while they come: an application in a process of its own, and what shows its counts."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

from examples.quickstart.source import QuickstartError, package_of

if TYPE_CHECKING:
    from examples.quickstart.servers import Servers
    from kafkapy.streams import Topology

LINES = "quickstart-lines"
COUNTS = "quickstart-counts"
APPLICATION = "quickstart-counting"
_PATIENCE_SECONDS = 120.0
_BETWEEN_REPORTS_SECONDS = 1.0
_SHOWN = 3


def topology() -> Topology:
    from kafkapy.streams import Consumed, Materialized, Produced, Serdes, Stores, StreamsBuilder

    builder = StreamsBuilder()
    lines = builder.stream(LINES, Consumed.with_(Serdes.string(), Serdes.byte_array()))
    counts = (
        lines.in_columns()
        .group_by_key()
        .count(materialized=Materialized.as_(Stores.in_memory_key_value_store("counts")))
    )
    counts.to_stream().to(COUNTS, Produced.with_(Serdes.string(), Serdes.long()))
    return builder.build()


class Counting:
    """The application, and a thread that prints its counts as they move. `counts`: lines by file, so far."""

    def __init__(self, servers: Servers) -> None:
        self.counts: dict[str, int] = {}
        self._bootstrap = servers.bootstrap
        self._moved = threading.Condition()
        self._closing = threading.Event()
        configs = {
            "application.id": APPLICATION,
            "bootstrap.servers": servers.bootstrap,
            "state.dir": str(servers.directory / "streams"),
            "commit.interval.ms": "500",
            "metadata.max.age.ms": "1000",
        }
        self._log = servers.directory / "streams.out"
        options = [f"--property={name}={value}" for name, value in configs.items()]
        command = [sys.executable, "-m", "kafkapy.tools.streams", "run", f"{__name__}:topology", *options]
        with open(self._log, "ab") as out:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
            )
        servers.processes.append(("the application", self._process))
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_for(self, lines: int) -> None:
        """Return when so many lines are counted.

        Raises:
            QuickstartError: The application has ended, or it takes too long.
        """
        deadline = time.monotonic() + _PATIENCE_SECONDS
        with self._moved:
            while sum(self.counts.values()) < lines:
                if self._process.poll() is not None:
                    raise QuickstartError(f"The application of Streams has ended; see {self._log}")
                if time.monotonic() > deadline:
                    raise QuickstartError(f"Streams has not counted {lines:,} lines; see {self._log}")
                self._moved.wait(1)

    def close(self) -> None:
        self._closing.set()
        self._reader.join()

    def _read(self) -> None:
        from kafkapy import KafkaConsumer

        shown, last = 0, time.monotonic()
        with KafkaConsumer(COUNTS, bootstrap_servers=self._bootstrap, auto_offset_reset="earliest") as consumer:
            while not self._closing.is_set():
                for records in consumer.poll(200).values():
                    with self._moved:
                        for record in records:
                            self.counts[(record.key or b"").decode()] = int.from_bytes(record.value or b"", "big")
                        self._moved.notify_all()
                total = sum(self.counts.values())
                if total != shown and time.monotonic() - last >= _BETWEEN_REPORTS_SECONDS:
                    shown, last = total, time.monotonic()
                    print(f"  Streams has counted {total:>9,} lines: {self._most()}", flush=True)

    def _most(self) -> str:
        packages: Counter[str] = Counter()
        for name, count in self.counts.items():
            packages[package_of(name)] += count
        return ", ".join(f"{package} {count:,}" for package, count in packages.most_common(_SHOWN))
