"""Tables of a database through Connect: by queries to objects, and by change capture to another table."""

from __future__ import annotations

import io
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import psycopg2

from system_tests.connect_pipelines import TARGET, TRANSFORMS, compare, execute, rows, sink_to
from system_tests.connect_topics import read_committed
from system_tests.object_server import ObjectServer
from tests.databases.postgresql import PostgresqlServer

_WRITERS = 3

Transaction = Callable[[Any, random.Random], None]


class _Version(NamedTuple):
    """A row as it was after an insert (version 0) or an update."""

    id: int
    version: int


def _write(server: PostgresqlServer, stop: threading.Event, seed: str, transaction: Transaction) -> None:
    """Do transactions until `stop` is set, whatever becomes of the server; a tenth is rolled back."""
    chance = random.Random(seed)
    while not stop.is_set():
        try:
            with closing(psycopg2.connect(server.dsn)) as connection, connection.cursor() as cursor:
                while not stop.is_set():
                    transaction(cursor, chance)
                    stop.wait(chance.choice((0, 0, 0.1, 0.5)))  # so that others begin later and commit earlier
                    if chance.random() < 0.1:
                        connection.rollback()
                    else:
                        connection.commit()
                    stop.wait(chance.uniform(0, 0.3))
        except psycopg2.Error:  # the server is away, or two transactions have waited for each other
            time.sleep(0.2)


def _write_from_threads(server: PostgresqlServer, stop: threading.Event, what: str, transaction: Transaction) -> None:
    threads = [
        threading.Thread(target=_write, args=(server, stop, f"{what} {number}", transaction))
        for number in range(_WRITERS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class TableToObjects:
    """Rows that are inserted and updated in transactions that overlap, by queries to a topic, and to objects.

    A query sees the last version of a row that has several between two polls: each row's last version is in the topic,
    versions of a row grow there, and none is there twice. Objects have each record of the topic once; they are complete
    up to the last `FLUSH_SIZE` records, so that rows are added until all that counts is there.
    """

    topics: Mapping[str, int] = {"db-orders": 2}
    FLUSH_SIZE = 50

    def __init__(self, bootstrap: str, server: PostgresqlServer, objects: ObjectServer, spool: Path) -> None:
        self._bootstrap, self._server, self._objects = bootstrap, server, objects
        self._wanted: list[int] | None = None
        self._records = 0
        sink = {
            **objects.sink_config(),
            "topics": "db-orders",
            "tasks.max": "2",
            "flush.size": str(self.FLUSH_SIZE),
            "retry.backoff.ms": "500",
            "spool.dir": str(spool),
            "transforms": "place",
            "transforms.place.type": f"{TRANSFORMS}.InsertField$Value",
            "transforms.place.partition.field": "at_partition",
            "transforms.place.offset.field": "at_offset",
        }
        formats = "io.confluent.connect.s3.format"
        self.connectors = {
            "orders": {
                "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
                "connection.url": f"jdbc:postgresql://127.0.0.1:{server.port}/postgres",
                "connection.user": "postgres",
                "connection.attempts": "300",
                "connection.backoff.ms": "500",
                "mode": "timestamp+incrementing",
                "timestamp.column.name": "changed_at",
                "incrementing.column.name": "id",
                "table.whitelist": "orders",
                "topic.prefix": "db-",
                "poll.interval.ms": "300",
                "batch.max.rows": "20",
                "transforms": "struct,key",
                "transforms.struct.type": f"{TRANSFORMS}.ValueToKey",
                "transforms.struct.fields": "id",
                "transforms.key.type": f"{TRANSFORMS}.ExtractField$Key",
                "transforms.key.field": "id",
            },
            "orders-json": {**sink, "topics.dir": "json", "format.class": f"{formats}.json.JsonFormat"},
            "orders-parquet": {**sink, "topics.dir": "parquet", "format.class": f"{formats}.parquet.ParquetFormat"},
        }

    def prepare(self) -> None:
        execute(
            self._server,
            "CREATE TABLE orders (id bigserial PRIMARY KEY, version int NOT NULL DEFAULT 0, note text,"
            " changed_at timestamptz NOT NULL DEFAULT now())",
            "CREATE TABLE versions (id bigint, version int)",
            "CREATE FUNCTION note_version() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN INSERT INTO versions VALUES (NEW.id, NEW.version); RETURN NEW; END $$",
            "CREATE TRIGGER noted AFTER INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION note_version()",
        )

    def feed(self, stop: threading.Event) -> None:
        _write_from_threads(self._server, stop, "orders", self._transaction)

    @staticmethod
    def _transaction(cursor: Any, chance: random.Random) -> None:
        count = chance.randint(0, 6)
        cursor.execute("INSERT INTO orders (note) SELECT repeat('n', %s) FROM generate_series(1, %s)", (count, count))
        for _ in range(chance.randint(0, 3)):  # rows with odd ids remain as they are
            cursor.execute(
                "UPDATE orders SET version = version + 1, changed_at = now() WHERE id ="
                " (SELECT max(id) - %s FROM orders WHERE id %% 2 = 0)",
                (2 * chance.randrange(40),),
            )

    def differences(self) -> list[str]:
        topic, found = self._differences_of_topic()
        if found:
            return found
        if self._wanted is None:
            self._wanted = [max(places, default=-1) for places in topic]
        objects = self._objects.objects()
        for name, read in (("json", self._json), ("parquet", self._parquet)):
            found += self._differences_of_objects(name, read(objects), topic)
        if found:
            count = 2 * self.FLUSH_SIZE
            execute(self._server, f"INSERT INTO orders (note) SELECT 'more' FROM generate_series(1, {count})")
        return found

    def _differences_of_topic(self) -> tuple[list[dict[int, _Version]], list[str]]:
        """Return the topic, by partition and offset, and what is wrong with it."""
        table = dict(rows(self._server, "SELECT id, version FROM orders"))
        history = {_Version(*row) for row in rows(self._server, "SELECT id, version FROM versions")}
        topic: list[dict[int, _Version]] = []
        last: dict[int, int] = {}
        found = []
        for partition, records in enumerate(read_committed(self._bootstrap, "db-orders", 2)):
            topic.append({})
            for record in records:
                row = json.loads(record.value or b"")["payload"]
                version = _Version(row["id"], row["version"])
                topic[-1][record.offset] = version
                place = f"db-orders-{partition}@{record.offset}"
                if version not in history:
                    found.append(f"{place}: {version} was never committed")
                if version.version <= last.get(version.id, -1):
                    found.append(f"{place}: {version} after version {last[version.id]}")
                last[version.id] = version.version
        self._records = sum(map(len, topic))
        return topic, found + compare("topic db-orders, last versions", Counter(last.items()), Counter(table.items()))

    def _differences_of_objects(
        self, name: str, rows_of_objects: list[dict[str, Any]], topic: list[dict[int, _Version]]
    ) -> list[str]:
        """Compare all up to the last record in objects, which must be one of those that are wanted, or a later one."""
        assert self._wanted is not None
        places = [
            (row["at_partition"], row["at_offset"], _Version(row["id"], row["version"])) for row in rows_of_objects
        ]
        found = []
        for partition, wanted in enumerate(self._wanted):
            have = Counter((offset, version) for its, offset, version in places if its == partition)
            end = max((offset for offset, _ in have), default=-1)
            if end < wanted:
                found.append(f"{name}, partition {partition}: objects up to {end} of {wanted}")
            expected = Counter(item for item in topic[partition].items() if item[0] <= end)
            found += compare(f"{name}, partition {partition}", have, expected)
        return found

    @staticmethod
    def _json(objects: Mapping[str, bytes]) -> list[dict[str, Any]]:
        texts = [data for name, data in objects.items() if name.startswith("json/")]
        return [json.loads(line) for text in texts for line in text.splitlines()]

    @staticmethod
    def _parquet(objects: Mapping[str, bytes]) -> list[dict[str, Any]]:
        from pyarrow import parquet

        files = [data for name, data in objects.items() if name.startswith("parquet/")]
        return [row for data in files for row in parquet.read_table(io.BytesIO(data)).to_pylist()]

    def describe(self) -> str:
        return f"{self._records:,} versions of rows"


class ChangesToTable:
    """Changes of a table, captured from the log of its server, to a topic, and to a table that must be the same."""

    topics: Mapping[str, int] = {"captured.public.accounts": 2}
    _SELECT = "SELECT id, n, note FROM accounts"

    def __init__(self, bootstrap: str, server: PostgresqlServer) -> None:
        self._bootstrap, self._server = bootstrap, server
        self._events = 0
        self.connectors = {
            "accounts": {
                "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
                "database.hostname": "127.0.0.1",
                "database.port": str(server.port),
                "database.user": "postgres",
                "database.dbname": "postgres",
                "topic.prefix": "captured",
                "table.include.list": "public.accounts",
                "publication.autocreate.mode": "filtered",
                "retriable.restart.connector.wait.ms": "500",
                "poll.interval.ms": "50",
            },
            "accounts-table": {
                **sink_to(server),
                "topics": "captured.public.accounts",
                "tasks.max": "2",
                "pk.mode": "record_key",
                "pk.fields": "id",
                "delete.enabled": "true",
                "table.name.format": "accounts",
            },
        }

    def prepare(self) -> None:
        table = "CREATE TABLE accounts (id int PRIMARY KEY, n int, note text)"
        execute(self._server, table, "INSERT INTO accounts SELECT n, n, 'first' FROM generate_series(1, 20) n")
        execute(self._server, table, database=TARGET)

    def feed(self, stop: threading.Event) -> None:
        _write_from_threads(self._server, stop, "accounts", self._transaction)

    @staticmethod
    def _transaction(cursor: Any, chance: random.Random) -> None:
        for id_ in sorted(chance.sample(range(200), chance.randint(1, 5))):
            if chance.random() < 0.3:
                cursor.execute("DELETE FROM accounts WHERE id = %s", (id_,))
            else:
                cursor.execute(
                    "INSERT INTO accounts AS a VALUES (%s, 0, %s)"
                    " ON CONFLICT (id) DO UPDATE SET n = a.n + 1, note = excluded.note",
                    (id_, "x" * chance.randrange(50)),
                )

    def differences(self) -> list[str]:
        events = read_committed(self._bootstrap, "captured.public.accounts", 2)
        payloads = [json.loads(record.value)["payload"] for records in events for record in records if record.value]
        self._events = len(payloads)
        places = Counter(
            (event["source"]["lsn"], event["source"]["txId"], event["op"], str(event["after"] or event["before"]))
            for event in payloads
            if event["op"] != "r"
        )
        found = [f"topic captured: {place} {count} times" for place, count in places.items() if count > 1]
        here, there = rows(self._server, self._SELECT), rows(self._server, self._SELECT, TARGET)
        return found + compare("table accounts", Counter(there), Counter(here))

    def describe(self) -> str:
        return f"{self._events:,} changes"
