"""Files through Connect to a database and to files."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from system_tests.connect_pipelines import TARGET, TRANSFORMS, compare, execute, rows, sink_to
from system_tests.connect_topics import read_committed
from tests.databases.postgresql import PostgresqlServer


class FilesToTable:
    """Lines of a file that grows, and of files that are begun one after the other, to topics; from each to a table and files."""

    topics: Mapping[str, int] = {"lines": 1, "globbed": 2}

    def __init__(self, bootstrap: str, folder: Path, server: PostgresqlServer, target: Path) -> None:
        folder.mkdir()
        self._bootstrap, self._folder, self._server = bootstrap, folder, server
        self._target = target
        self._lines: dict[str, list[str]] = {"lines": [], "globbed": []}
        text = "org.apache.kafka.connect.storage.StringConverter"
        converters = {"key.converter": text, "value.converter": text}
        self.connectors = {
            "lines": {
                "connector.class": "FileStreamSource",
                "file": str(folder / "one.txt"),
                "topic": "lines",
                **converters,
            },
            "globbed": {
                "connector.class": "kafkapy.connect.FileGlobSourceConnector",
                "files": str(folder / "many-*.log"),
                "topic": "globbed",
                "tasks.max": "2",
                "scan.interval.ms": "300",
                **converters,
            },
            "lines-table": {
                **sink_to(server),
                "topics": "lines,globbed",
                "tasks.max": "2",
                "pk.mode": "record_value",
                "pk.fields": "line",
                "transforms": "line",
                "transforms.line.type": f"{TRANSFORMS}.HoistField$Value",
                "transforms.line.field": "line",
                **converters,
            },
            "lines-files": {
                "connector.class": "kafkapy.connect.FileRotatingSinkConnector",
                "topics": "lines,globbed",
                "tasks.max": "2",
                "directory": str(target / "written"),
                "rotate.size.bytes": "4000",
                "rotate.interval.ms": "2000",
                **converters,
            },
        }

    def prepare(self) -> None:
        for table in self.topics:
            execute(self._server, f"CREATE TABLE {table} (line text PRIMARY KEY)", database=TARGET)

    def feed(self, stop: threading.Event) -> None:
        chance, number = random.Random("lines"), 0
        while not stop.is_set():
            for topic, name in (("lines", "one.txt"), ("globbed", f"many-{number // 300}.log")):
                added = [
                    f"{topic} {number + each} {'x' * chance.randrange(60)}" for each in range(chance.randint(1, 9))
                ]
                text = "".join(f"{line}\n" for line in added)
                with open(self._folder / name, "a") as file:  # in two pieces, so that a line may be there in half
                    file.write(text[: len(text) // 2])
                    file.flush()
                    time.sleep(0.01)
                    file.write(text[len(text) // 2 :])
                self._lines[topic] += added
            number += 10
            stop.wait(0.1)

    def differences(self) -> list[str]:
        found = []
        for topic, partitions in self.topics.items():
            read = read_committed(self._bootstrap, topic, partitions)
            values = [(record.value or b"").decode() for records in read for record in records]
            found += compare(f"topic {topic}", Counter(values), Counter(self._lines[topic]))
            if partitions == 1 and values != sorted(values, key=_number):
                found.append(f"topic {topic}: lines are not in the file's order")
            table = rows(self._server, f"SELECT line FROM {topic}", TARGET)
            found += compare(f"table {topic}", Counter(line for (line,) in table), Counter(self._lines[topic]))
            for partition, records in enumerate(read):
                written = self._written(f"{topic}+{partition}+")
                expected = [(record.value or b"").decode() for record in records]
                if written != expected:
                    found.append(f"files {topic}-{partition}: {len(written)} lines of {len(expected)}")
                    found += compare(f"files {topic}-{partition}", Counter(written), Counter(expected))
        return found

    def _written(self, begin: str) -> list[str]:
        """Return the lines of a partition in files, in the order of their offsets."""
        paths = sorted((self._target / "written").glob(f"{begin}*"))
        return [line for path in paths for line in path.read_text().splitlines()]

    def describe(self) -> str:
        return f"{sum(map(len, self._lines.values())):,} lines"


def _number(line: str) -> int:
    return int(line.split(" ")[1])
