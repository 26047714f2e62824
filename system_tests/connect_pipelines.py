"""Pipelines of Connect whose ends can be compared: files to a table, a table to objects, and a table's changes to a table.

A pipeline has something at its beginning that grows (`feed`, in a thread), connectors, and says what is wrong at its end.
Files and tables are the truth: what they have at last must have arrived, each record of a topic once.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import psycopg2

from system_tests.connect_topics import read_committed
from tests.databases.postgresql import PostgresqlServer

TARGET = "target"
"""The database for rows that sinks write; sources read another one, `postgres`."""
_TRANSFORMS = "org.apache.kafka.connect.transforms"


class Pipeline(Protocol):
    """A pipeline; `feed` is called in a thread until `stop` is set."""

    topics: Mapping[str, int]
    connectors: dict[str, dict[str, str]]

    def prepare(self) -> None: ...

    def feed(self, stop: threading.Event) -> None: ...

    def differences(self) -> list[str]:
        """What is wrong at the ends. May feed more, where the end is only written when there is more."""
        ...

    def describe(self) -> str: ...


class Feeders:
    """Threads that feed pipelines. `stop` raises what a thread has raised."""

    def __init__(self, pipelines: list[Pipeline]) -> None:
        self._stop = threading.Event()
        self._errors: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._run, args=(each,), name=f"feeds {each.describe()}", daemon=True)
            for each in pipelines
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def _run(self, pipeline: Pipeline) -> None:
        try:
            pipeline.feed(self._stop)
        except BaseException as error:
            self._errors.append(error)

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()
        if self._errors:
            raise self._errors[0]


def _sink_to(server: PostgresqlServer) -> dict[str, str]:
    return {
        "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
        "connection.url": f"jdbc:postgresql://127.0.0.1:{server.port}/{TARGET}",
        "connection.user": "postgres",
        "insert.mode": "upsert",
        "max.retries": "300",
        "retry.backoff.ms": "500",
    }


def rows(server: PostgresqlServer, statement: str, database: str = "postgres") -> list[Any]:
    """Return what a statement selects."""
    with closing(psycopg2.connect(server.dsn, dbname=database)) as connection, connection.cursor() as cursor:
        cursor.execute(statement)
        found: list[Any] = cursor.fetchall()
        return found


def execute(server: PostgresqlServer, *statements: str, database: str = "postgres") -> None:
    """Execute statements, each in a transaction of its own."""
    with closing(psycopg2.connect(server.dsn, dbname=database)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)


def compare(what: str, found: Counter[Any], expected: Counter[Any]) -> list[str]:
    """Say how many are missing, and how many are there too often."""
    missing, extra = expected - found, found - expected
    if not missing and not extra:
        return []
    return [f"{what}: {missing.total()} missing {sorted(missing)[:3]}, {extra.total()} extra {sorted(extra)[:3]}"]


class FilesToTable:
    """Lines of a file that grows, and of files that are begun one after the other, to topics, and to a table of each."""

    topics: Mapping[str, int] = {"lines": 1, "globbed": 2}

    def __init__(self, bootstrap: str, folder: Path, server: PostgresqlServer) -> None:
        folder.mkdir()
        self._bootstrap, self._folder, self._server = bootstrap, folder, server
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
                **_sink_to(server),
                "topics": "lines,globbed",
                "tasks.max": "2",
                "pk.mode": "record_value",
                "pk.fields": "line",
                "transforms": "line",
                "transforms.line.type": f"{_TRANSFORMS}.HoistField$Value",
                "transforms.line.field": "line",
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
        return found

    def describe(self) -> str:
        return f"{sum(map(len, self._lines.values())):,} lines"


def _number(line: str) -> int:
    return int(line.split(" ")[1])
