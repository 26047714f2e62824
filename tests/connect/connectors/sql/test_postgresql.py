"""SQL connectors with PostgreSQL: commits out of order, lost connections, types, bulk writes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa

from kafkapy.connect.connectors.sql.database import Database
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.logical import TIMESTAMP_SCHEMA, decimal_schema
from kafkapy.connect.data.schema import INT64_SCHEMA, OPTIONAL_STRING_SCHEMA, Type
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import ConnectException, RetriableException
from tests.connect.connectors.sql.harness import SourceHarness, SqlSinkHarness, execute, record
from tests.databases.postgresql import PostgresqlServer

pytestmark = pytest.mark.integration

ROW = SchemaBuilder(Type.STRUCT).field("id", INT64_SCHEMA).field("name", OPTIONAL_STRING_SCHEMA).build()
INCREMENTING = {"mode": "incrementing", "incrementing.column.name": "id"}
TIMESTAMPS = {"mode": "timestamp+incrementing", "incrementing.column.name": "id", "timestamp.column.name": "at"}


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresqlServer]:
    with PostgresqlServer.private() as found:
        yield found


@pytest.fixture
def engine(server: PostgresqlServer) -> Iterator[Any]:
    """With an empty schema."""
    engine = sa.create_engine(server.url.replace("postgresql:", "postgresql+psycopg:"), poolclass=sa.pool.NullPool)
    others = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usesysid IS NOT NULL"
    )
    execute(engine, others, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    yield engine
    engine.dispose()


@pytest.fixture
def url(server: PostgresqlServer) -> str:
    return f"jdbc:postgresql://127.0.0.1:{server.port}/postgres?user=postgres"


def test_rows_that_commit_late_are_read_in_incrementing_mode(engine: Any, url: str) -> None:
    execute(engine, "CREATE TABLE t (id bigserial PRIMARY KEY, name text)", "CREATE TABLE other (x int)")
    source = SourceHarness(url, {**INCREMENTING, "table.whitelist": "t"})
    with engine.connect() as first, engine.connect() as second, engine.connect() as elsewhere:
        first.execute(sa.text("INSERT INTO t (name) VALUES ('late')"))
        elsewhere.execute(sa.text("INSERT INTO other VALUES (1)"))  # its writer is not waited for
        second.execute(sa.text("INSERT INTO t (name) VALUES ('early')"))
        second.commit()
        assert source.ids(3) == []
        first.commit()
        assert source.ids(2) == [1, 2]


def test_an_id_that_was_drawn_before_the_insert_is_waited_for(engine: Any, url: str) -> None:
    execute(engine, "CREATE TABLE t (id bigserial PRIMARY KEY)")
    source = SourceHarness(url, INCREMENTING)
    with engine.connect() as first:
        assert first.execute(sa.text("SELECT nextval('t_id_seq')")).scalar() == 1
        execute(engine, "INSERT INTO t DEFAULT VALUES")
        assert source.ids(2) == []
        first.execute(sa.text("INSERT INTO t VALUES (1)"))
        first.commit()
        assert source.ids(2) == [1, 2]


def test_rows_of_partitions_that_commit_late_are_read(engine: Any, url: str) -> None:
    execute(
        engine,
        "CREATE TABLE t (id bigserial) PARTITION BY RANGE (id)",
        "CREATE TABLE t_low PARTITION OF t FOR VALUES FROM (0) TO (2)",
        "CREATE TABLE t_high PARTITION OF t FOR VALUES FROM (2) TO (100)",
    )
    configs = {**INCREMENTING, "table.whitelist": "public.t", "table.types": "PARTITIONED TABLE"}
    source = SourceHarness(url, {**configs, "validate.non.null": "false"})
    with engine.connect() as first:
        first.execute(sa.text("INSERT INTO t_low VALUES (1)"))
        execute(engine, "INSERT INTO t VALUES (5)")
        assert source.ids(2) == []
        first.commit()
        assert source.ids(2) == [1, 5]


@pytest.mark.parametrize("mode", ["timestamp", "timestamp+incrementing"])
def test_rows_that_commit_late_are_read_by_timestamps(engine: Any, url: str, mode: str) -> None:
    execute(engine, "CREATE TABLE t (id int PRIMARY KEY, at timestamptz NOT NULL)")
    source = SourceHarness(url, {**TIMESTAMPS, "mode": mode})
    with engine.connect() as first:
        first.execute(sa.text("SELECT now()"))  # its time is that of its beginning, and it has written nothing yet
        execute(engine, "INSERT INTO t VALUES (2, now() - interval '1 minute')")
        assert source.ids(2) == []
        first.execute(sa.text("INSERT INTO t VALUES (1, now() - interval '2 minutes')"))
        first.commit()
        assert source.ids(2) == [1, 2]


def test_times_are_compared_in_the_zone_of_the_database(engine: Any, url: str) -> None:
    execute(
        engine,
        "CREATE TABLE t (id int PRIMARY KEY, at timestamp NOT NULL)",
        "INSERT INTO t VALUES (1, (now() AT TIME ZONE 'America/New_York') - interval '1 minute')",
    )
    offsets: list[Any] = []
    source = SourceHarness(url, {**TIMESTAMPS, "db.timezone": "America/New_York"}, offsets)
    (found,) = [each for _ in range(2) for each in source.batch()]
    assert abs(found.value["at"].ms / 1000 - dt.datetime.now().timestamp()) < 120
    source.task.stop()
    execute(engine, "INSERT INTO t VALUES (2, (now() AT TIME ZONE 'America/New_York') - interval '30 seconds')")
    assert SourceHarness(url, {**TIMESTAMPS, "db.timezone": "America/New_York"}, offsets).ids(2) == [2]


def test_a_lost_connection_is_retried_and_then_fails_the_task(server: PostgresqlServer, engine: Any, url: str) -> None:
    execute(engine, "CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t SELECT generate_series(1, 5)")
    source = SourceHarness(url, {**INCREMENTING, "batch.max.rows": "2", "connection.attempts": "3"})
    assert source.ids() == [1, 2]
    server.stop()
    try:
        with pytest.raises(RetriableException):
            source.batch()
        with pytest.raises(RetriableException):
            source.batch()
    finally:
        server.start()
    assert source.ids(3) == [3, 4, 5]
    server.stop()
    try:
        for _ in range(2):
            with pytest.raises(RetriableException):
                source.batch()
        with pytest.raises(ConnectException, match=r"connection\.attempts"):
            source.batch()
    finally:
        server.start()


@pytest.mark.parametrize("question", ["tables", "columns"])  # of the connector, of the task
def test_a_connection_that_is_lost_at_the_start_is_opened_again(
    engine: Any, url: str, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute(engine, "CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    answer = getattr(Database, question)
    asked: list[tuple[Any, ...]] = []

    def lose_the_first(database: Database, *arguments: Any) -> Any:
        if not asked:
            database.connection().execute(sa.text("SELECT 1"))
            execute(
                engine,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'kafkapy-connect'",
            )
        asked.append(arguments)
        return answer(database, *arguments)

    monkeypatch.setattr(Database, question, lose_the_first)
    assert SourceHarness(url, {**INCREMENTING, "connection.backoff.ms": "1"}).ids() == [1]
    assert len(asked) > 1


def test_types_of_columns_and_queries(engine: Any, url: str) -> None:
    execute(
        engine,
        "CREATE TYPE mood AS ENUM ('good')",
        "CREATE TABLE t (id bigint PRIMARY KEY, s smallint, f real, d double precision, b boolean, n numeric(10,2),"
        " m numeric, y bytea, j jsonb, u uuid, e mood, a int[], day date, clock time, at timestamptz)",
        "INSERT INTO t VALUES (1, 2, 0.5, 0.25, true, 1.5, 1.25, '\\x00', '{\"a\": 1}',"
        " '00000000-0000-0000-0000-000000000001', 'good', '{1,2}', '2024-02-29', '01:02:03', '2024-02-29 12:00+02')",
    )
    table = SourceHarness(url, {**INCREMENTING, "numeric.mapping": "best_fit"}).batch()[0]
    query = SourceHarness(url, {"mode": "bulk", "query": "SELECT * FROM t", "numeric.mapping": "best_fit"}).batch()[0]
    assert (table.topic, query.topic) == ("p-t", "p-")
    for value in (table.value, query.value):
        names = [field.name for field in value.schema.fields]
        found = {name: value[name] for name in names}
        assert {name: found[name] for name in "sfdbnmyjuea"} == {
            "s": 2,
            "f": 0.5,
            "d": 0.25,
            "b": True,
            "n": 1.5,
            "m": 1.25,
            "y": b"\0",
            "j": '{"a": 1}',
            "u": "00000000-0000-0000-0000-000000000001",
            "e": "good",
            "a": "{1,2}" if value is table.value else "[1, 2]",
        }
        assert found["day"].date() == dt.date(2024, 2, 29)
        assert found["clock"].time() == dt.time(1, 2, 3)
        assert found["at"].datetime() == dt.datetime(2024, 2, 29, 10, tzinfo=dt.UTC)
        types = {field.name: field.schema.type for field in value.schema.fields}
        assert (types["s"], types["f"], types["n"]) == (Type.INT16, Type.FLOAT32, Type.FLOAT64)


def test_upserts_are_copied_and_end_as_the_last_record(engine: Any, url: str) -> None:
    configs = {"insert.mode": "upsert", "pk.mode": "record_key", "pk.fields": "id", "delete.enabled": "true"}
    sink = SqlSinkHarness(url, {**configs, "auto.create": "true"})
    changes = [
        record(n, Struct(ROW, {"id": n % 40, "name": f"n{n}"}), n % 40, key_schema=INT64_SCHEMA) for n in range(400)
    ]
    sink.put(*changes, record(400, None, 7, key_schema=INT64_SCHEMA))
    assert sink.query("SELECT id, name FROM t ORDER BY id") == [(n, f"n{360 + n}") for n in range(40) if n != 7]


@pytest.mark.parametrize("mode", ["insert", "upsert"])
def test_each_copy_is_committed(engine: Any, url: str, mode: str) -> None:
    execute(engine, "CREATE TABLE t (id bigint PRIMARY KEY, name text)")
    sink = SqlSinkHarness(url, {"insert.mode": mode, "pk.mode": "record_value", "pk.fields": "id"})
    for begin in (0, 100, 200):
        sink.put(*(record(n, Struct(ROW, {"id": n, "name": "a"})) for n in range(begin, begin + 100)))
        assert sink.query("SELECT count(*) FROM t") == [(begin + 100,)]


def test_a_row_that_is_refused_is_reported_alone(engine: Any, url: str) -> None:
    execute(engine, "CREATE TABLE t (id bigint PRIMARY KEY, name varchar(5))")
    sink = SqlSinkHarness(url, {"insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "id"}, reports=True)
    sink.put(*(record(n, Struct(ROW, {"id": n, "name": "too long" if n in (3, 50) else "ok"})) for n in range(100)))
    assert [bad.kafka_offset for bad, _ in sink.reported] == [3, 50]
    assert "too long" in str(sink.reported[0][1])
    assert sink.query("SELECT count(*), min(name), max(name) FROM t") == [(98, "ok", "ok")]


def test_the_sink_retries_until_the_database_is_back(server: PostgresqlServer, engine: Any, url: str) -> None:
    execute(engine, "CREATE TABLE t (id bigint PRIMARY KEY, name text)")
    configs = {"insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "id", "max.retries": "2"}
    sink = SqlSinkHarness(url, configs)
    rows = [record(n, Struct(ROW, {"id": n, "name": "a"})) for n in range(3)]
    sink.put(*rows)
    server.stop()
    try:
        for _ in range(2):
            with pytest.raises(RetriableException):
                sink.put(*rows)
    finally:
        server.start()
    sink.put(*rows)
    assert sink.timeouts == [3000, 3000]
    server.stop()
    try:
        for _ in range(2):
            with pytest.raises(RetriableException):
                sink.put(*rows)
        with pytest.raises(ConnectException, match=r"max\.retries"):
            sink.put(*rows)
    finally:
        server.start()
    assert sink.query("SELECT count(*) FROM t") == [(3,)]


def test_tables_are_created_with_types_and_without_quotes(engine: Any, url: str) -> None:
    schema = (
        SchemaBuilder(Type.STRUCT)
        .field("Id", INT64_SCHEMA)
        .field("Price", decimal_schema(2))
        .field("At", TIMESTAMP_SCHEMA)
        .build()
    )
    at = dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)
    value = Struct(schema, {"Id": 1, "Price": Decimal("1.50"), "At": at})
    configs = {"auto.create": "true", "pk.mode": "record_value", "pk.fields": "Id", "insert.mode": "upsert"}
    SqlSinkHarness(url, {**configs, "table.name.format": "public.Quoted"}).put(record(0, value))
    sink = SqlSinkHarness(url, {**configs, "table.name.format": "Plain", "quote.sql.identifiers": "never"})
    sink.put(*(record(n, value) for n in range(30)))
    assert sink.query('SELECT * FROM "Quoted"') == sink.query("SELECT * FROM plain")
    assert sink.query("SELECT id, price, at FROM plain") == [(1, Decimal("1.50"), at.replace(tzinfo=None))]
