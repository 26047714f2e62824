"""Pipelines of Connect whose ends can be compared: files to a table, a table to objects, and a table's changes to a table.

A pipeline has something at its beginning that grows (`feed`, in a thread), connectors, and says what is wrong at its end.
Files and tables are the truth: what they have at last must have arrived, each record of a topic once.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from typing import Any, Protocol

import psycopg2

from tests.databases.postgresql import PostgresqlServer

TARGET = "target"
"""The database for rows that sinks write; sources read another one, `postgres`."""
TRANSFORMS = "org.apache.kafka.connect.transforms"


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
    """Feed pipelines in threads, within a `with` block. Raises what a thread has raised, at its end."""

    def __init__(self, pipelines: list[Pipeline]) -> None:
        self._stop = threading.Event()
        self._errors: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._run, args=(each,), name=f"feeds {type(each).__name__}") for each in pipelines
        ]

    def _run(self, pipeline: Pipeline) -> None:
        try:
            pipeline.feed(self._stop)
        except BaseException as error:
            self._errors.append(error)

    def __enter__(self) -> Feeders:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        if self._errors and kind is None:
            raise self._errors[0]


def sink_to(server: PostgresqlServer) -> dict[str, str]:
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
