"""SQL connectors with MariaDB: commits out of order, lost connections, types, upserts, zones."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa

from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.logical import DATE_SCHEMA, TIME_SCHEMA, TIMESTAMP_SCHEMA, decimal_schema
from kafkapy.connect.data.schema import (
    BOOLEAN_SCHEMA,
    FLOAT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_BYTES_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Type,
)
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import ConnectException, RetriableException
from tests.connect.connectors.sql.harness import SourceHarness, SqlSinkHarness, execute, record, stop_tasks
from tests.databases.mariadb import DATABASE, PASSWORD, USER, MariadbServer
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

ROW = SchemaBuilder(Type.STRUCT).field("id", INT64_SCHEMA).field("name", OPTIONAL_STRING_SCHEMA).build()
INCREMENTING = {"mode": "incrementing", "incrementing.column.name": "id"}
TIMESTAMPS = {"mode": "timestamp+incrementing", "incrementing.column.name": "id", "timestamp.column.name": "at"}
UPSERT = {"insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "id"}


@pytest.fixture(scope="module")
def server() -> Iterator[MariadbServer]:
    with MariadbServer.private() as found:
        yield found


@pytest.fixture
def engine(server: MariadbServer) -> Iterator[Any]:
    """With an empty database."""
    engine = sa.create_engine(server.url, poolclass=sa.pool.NullPool)
    server.end_sessions()  # an open transaction would keep its tables
    server.sql(f"DROP DATABASE {DATABASE}", f"CREATE DATABASE {DATABASE}")
    yield engine
    stop_tasks()
    engine.dispose()


@pytest.fixture(params=["mysql", "mariadb"])
def url(server: MariadbServer, request: pytest.FixtureRequest) -> str:
    return f"jdbc:{request.param}://127.0.0.1:{server.port}/{DATABASE}?user={USER}&password={PASSWORD}"


@pytest.fixture
def jdbc(server: MariadbServer) -> str:
    return f"jdbc:mariadb://127.0.0.1:{server.port}/{DATABASE}?user={USER}&password={PASSWORD}"


def read_until(source: SourceHarness, expected: list[int]) -> None:
    """Poll until the rows have come: the server's list of transactions is a little old."""
    found: list[int] = []

    def has_all() -> bool:
        found.extend(source.ids())
        return len(found) >= len(expected)

    wait_until(has_all, lambda: found)
    assert found == expected


def test_rows_that_commit_late_are_read_in_incrementing_mode(engine: Any, jdbc: str) -> None:
    execute(engine, "CREATE TABLE t (id bigint AUTO_INCREMENT PRIMARY KEY, name text)")
    source = SourceHarness(jdbc, INCREMENTING)
    with engine.connect() as first, engine.connect() as second:
        first.execute(sa.text("INSERT INTO t (name) VALUES ('late')"))
        second.execute(sa.text("INSERT INTO t (name) VALUES ('early')"))
        second.commit()
        assert source.ids(2) == []
        first.commit()
        read_until(source, [1, 2])


@pytest.mark.parametrize("mode", ["timestamp", "timestamp+incrementing"])
def test_rows_that_commit_late_are_read_by_timestamps(engine: Any, jdbc: str, mode: str) -> None:
    execute(engine, "CREATE TABLE t (id int PRIMARY KEY, at timestamp(6) NOT NULL)")
    source = SourceHarness(jdbc, {**TIMESTAMPS, "mode": mode})
    with engine.connect() as first:
        first.execute(sa.text("INSERT INTO t VALUES (1, now(6) - INTERVAL 2 MINUTE)"))
        execute(engine, "INSERT INTO t VALUES (2, now(6) - INTERVAL 1 MINUTE)")
        assert source.ids(2) == []
        first.commit()
        read_until(source, [1, 2])


def test_a_user_that_cannot_see_transactions_is_warned(
    server: MariadbServer, engine: Any, caplog: pytest.LogCaptureFixture
) -> None:
    execute(engine, "CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    execute(engine, "CREATE OR REPLACE USER plain@'%' IDENTIFIED BY 'p'", f"GRANT SELECT ON {DATABASE}.* TO plain@'%'")
    url = f"jdbc:mariadb://127.0.0.1:{server.port}/{DATABASE}?user=plain&password=p"
    with caplog.at_level(logging.WARNING):
        assert SourceHarness(url, INCREMENTING).ids(2) == [1]
    assert "GRANT PROCESS" in caplog.text


@pytest.mark.parametrize("kind", ["timestamp(3)", "datetime(3)"])
def test_times_are_compared_in_the_zone_of_the_config(engine: Any, jdbc: str, kind: str) -> None:
    zone = {"db.timezone": "America/New_York"}
    shown = "CONVERT_TZ(UTC_TIMESTAMP(3), '+00:00', '-05:00')" if kind.startswith("d") else "now(3)"
    if kind.startswith("d"):
        zone["db.timezone"] = "Etc/GMT+5"
    execute(
        engine,
        f"CREATE TABLE t (id int PRIMARY KEY, at {kind} NOT NULL)",
        f"INSERT INTO t VALUES (1, {shown} - INTERVAL 1 MINUTE)",
    )
    offsets: list[Any] = []
    source = SourceHarness(jdbc, {**TIMESTAMPS, **zone}, offsets)
    (found,) = [each for _ in range(2) for each in source.batch()]
    assert abs(found.value["at"].ms / 1000 - dt.datetime.now().timestamp()) < 120
    source.task.stop()
    execute(engine, f"INSERT INTO t VALUES (2, {shown} - INTERVAL 30 SECOND)")
    assert SourceHarness(jdbc, {**TIMESTAMPS, **zone}, offsets).ids(2) == [2]


def test_a_lost_connection_is_retried_and_then_fails_the_task(server: MariadbServer, engine: Any, jdbc: str) -> None:
    execute(engine, "CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t SELECT seq FROM seq_1_to_5")
    source = SourceHarness(jdbc, {**INCREMENTING, "batch.max.rows": "2", "connection.attempts": "2"})
    assert source.ids() == [1, 2]
    server.kill()
    try:
        with pytest.raises(RetriableException):
            for _ in range(5):  # rows that have arrived already come first
                source.batch()
    finally:
        server.start()
    wait_until(lambda: source.ids() is not None and len(source.offsets) >= 5, lambda: source.offsets)
    assert [offset["incrementing"] for _, offset in source.offsets] == [1, 2, 3, 4, 5]
    server.kill()
    try:
        with pytest.raises(RetriableException):
            source.batch()
        with pytest.raises(ConnectException, match=r"connection\.attempts"):
            source.batch()
    finally:
        server.start()


TYPES = (
    "id bigint PRIMARY KEY, tiny tinyint, flag tinyint(1), small smallint, medium mediumint, plain int,"
    " utiny tinyint unsigned, uplain int unsigned, ubig bigint unsigned, f float, d double, n decimal(10,2),"
    " big decimal(30,0), bits bit(9), fixed char(5), name varchar(20) CHARACTER SET latin1, doc json,"
    " mood enum('good','bad'), marks set('a','b'), raw varbinary(4), large blob, day date, clock time(3),"
    " at datetime(6), stamp timestamp(3) NULL, y year"
)
VALUES = (
    "1, -2, 1, -300, -70000, -5, 200, 4000000000, 5000000000, 0.5, 0.25, 1.5, 123456789012345678901234567890, 257,"
    " 'ab', 'grün', '{\"a\": 1}', 'good', 'a,b', x'0001', x'00ff', '2024-02-29', '01:02:03.5',"
    " '2024-02-29 12:34:56.789012', '2024-02-29 10:00:00', 2024"
)


@pytest.mark.parametrize("with_query", [False, True])
def test_types_of_columns_and_queries(engine: Any, url: str, with_query: bool) -> None:
    execute(engine, "SET time_zone = '+00:00'", f"CREATE TABLE t ({TYPES})", f"INSERT INTO t VALUES ({VALUES})")
    configs = {"mode": "bulk", "query": "SELECT * FROM t"} if with_query else INCREMENTING
    value = SourceHarness(url, {**configs, "numeric.mapping": "best_fit"}).batch()[0].value
    found = {field.name: value[field.name] for field in value.schema.fields}
    types = {field.name: field.schema.type for field in value.schema.fields}
    plain = {"id": 1, "tiny": -2, "small": -300, "medium": -70000, "plain": -5, "utiny": 200, "uplain": 4 * 10**9}
    assert {name: found[name] for name in plain} == plain
    assert (found["ubig"], found["y"], found["f"], found["d"], found["n"]) == (5 * 10**9, 2024, 0.5, 0.25, 1.5)
    assert (found["flag"], found["big"]) == (1 if with_query else True, Decimal(123456789012345678901234567890))
    assert {name: found[name] for name in ("bits", "raw", "large")} == {
        "bits": b"\1\1",
        "raw": b"\0\1",
        "large": b"\0\xff",
    }
    texts = {"fixed": "ab", "name": "grün", "doc": '{"a": 1}', "mood": "good", "marks": "a,b"}
    assert {name: found[name] for name in texts} == texts
    assert found["day"].date() == dt.date(2024, 2, 29)
    assert found["clock"].time() == dt.time(1, 2, 3, 500000)
    assert found["at"].datetime() == dt.datetime(2024, 2, 29, 12, 34, 56, 789000, tzinfo=dt.UTC)
    assert found["stamp"].datetime() == dt.datetime(2024, 2, 29, 10, tzinfo=dt.UTC)
    assert (types["f"], types["n"], types["ubig"]) == (Type.FLOAT32, Type.FLOAT64, Type.INT64)
    if not with_query:
        assert [types[name] for name in ("tiny", "utiny", "small", "uplain")] == [
            *(Type.INT8, Type.INT16, Type.INT16, Type.INT64)
        ]


def test_zero_dates_are_null(engine: Any, jdbc: str) -> None:
    execute(
        engine,
        "SET sql_mode = ''",
        "CREATE TABLE t (id int PRIMARY KEY, day date, at datetime)",
        "INSERT INTO t VALUES (1, '0000-00-00', '0000-00-00 00:00:00')",
    )
    (found,) = SourceHarness(jdbc, INCREMENTING).batch()
    assert (found.value["day"], found.value["at"]) == (None, None)


def test_upserts_end_as_the_last_record(engine: Any, url: str) -> None:
    keyed = {"insert.mode": "upsert", "pk.mode": "record_key", "pk.fields": "id", "delete.enabled": "true"}
    sink = SqlSinkHarness(url, {**keyed, "auto.create": "true"})
    changes = [
        record(n, Struct(ROW, {"id": n % 40, "name": f"n{n}"}), n % 40, key_schema=INT64_SCHEMA) for n in range(400)
    ]
    sink.put(*changes, record(400, None, 7, key_schema=INT64_SCHEMA))
    assert sink.query("SELECT id, name FROM t ORDER BY id") == [(n, f"n{360 + n}") for n in range(40) if n != 7]
    sink.put(record(401, Struct(ROW, {"id": 8, "name": None}), 8, key_schema=INT64_SCHEMA))
    assert sink.query("SELECT name FROM t WHERE id = 8") == [(None,)]


@pytest.mark.parametrize("mode", ["insert", "upsert", "update"])
def test_modes(engine: Any, jdbc: str, mode: str) -> None:
    execute(engine, "CREATE TABLE t (id bigint PRIMARY KEY, name text)", "INSERT INTO t VALUES (100, 'old')")
    sink = SqlSinkHarness(jdbc, {**UPSERT, "insert.mode": mode})
    sink.put(*(record(n, Struct(ROW, {"id": n, "name": "new"})) for n in range(3)))
    expected = {"insert": 4, "upsert": 4, "update": 1}[mode]
    assert sink.query("SELECT count(*) FROM t") == [(expected,)]
    if mode != "insert":
        sink.put(record(4, Struct(ROW, {"id": 100, "name": "new"})))
        assert sink.query("SELECT name FROM t WHERE id = 100") == [("new",)]


def test_a_row_that_is_refused_is_reported_alone(engine: Any, jdbc: str) -> None:
    execute(engine, "CREATE TABLE t (id bigint PRIMARY KEY, name varchar(5))")
    sink = SqlSinkHarness(jdbc, UPSERT, reports=True)
    sink.put(*(record(n, Struct(ROW, {"id": n, "name": "too long" if n in (3, 50) else "ok"})) for n in range(100)))
    assert [bad.kafka_offset for bad, _ in sink.reported] == [3, 50]
    assert "Data too long" in str(sink.reported[0][1])
    assert sink.query("SELECT count(*), min(name), max(name) FROM t") == [(98, "ok", "ok")]


def test_the_sink_retries_until_the_database_is_back(server: MariadbServer, engine: Any, jdbc: str) -> None:
    execute(engine, "CREATE TABLE t (id bigint PRIMARY KEY, name text)")
    sink = SqlSinkHarness(jdbc, {**UPSERT, "max.retries": "2"})
    rows = [record(n, Struct(ROW, {"id": n, "name": "a"})) for n in range(3)]
    sink.put(*rows)
    server.kill()
    try:
        for _ in range(2):
            with pytest.raises(RetriableException):
                sink.put(*rows)
    finally:
        server.start()
    sink.put(*rows)
    assert sink.timeouts == [3000, 3000]
    assert sink.query("SELECT count(*) FROM t") == [(3,)]


def test_a_lock_that_is_not_to_be_had_is_retried(engine: Any, jdbc: str) -> None:
    execute(engine, "CREATE TABLE t (id bigint PRIMARY KEY, name text)", "INSERT INTO t VALUES (1, 'a')")
    sink, row = SqlSinkHarness(jdbc, UPSERT), record(0, Struct(ROW, {"id": 1, "name": "b"}))
    assert sink.task._database is not None
    with engine.connect() as holder:
        holder.execute(sa.text("UPDATE t SET name = 'held' WHERE id = 1"))
        sink.task._database.connection().exec_driver_sql("SET SESSION innodb_lock_wait_timeout = 1")
        with pytest.raises(RetriableException, match="Lock wait timeout"):
            sink.put(row)
    sink.put(row)
    assert sink.query("SELECT name FROM t") == [("b",)]


WIDE = (
    SchemaBuilder(Type.STRUCT)
    .field("Id", STRING_SCHEMA)
    .field("Price", decimal_schema(2))
    .field("At", TIMESTAMP_SCHEMA)
    .field("Day", DATE_SCHEMA)
    .field("Clock", TIME_SCHEMA)
    .field("Flag", BOOLEAN_SCHEMA)
    .field("Ratio", FLOAT32_SCHEMA)
    .field("Raw", OPTIONAL_BYTES_SCHEMA)
    .field("Text", OPTIONAL_STRING_SCHEMA)
    .build()
)


@pytest.mark.parametrize("quotes", ["always", "never"])
def test_tables_are_created_and_read_again_as_they_were_written(engine: Any, jdbc: str, quotes: str) -> None:
    at = dt.datetime(2024, 2, 29, 12, 0, 0, 123000, tzinfo=dt.UTC)
    row = {
        "Id": "käse",
        "Price": Decimal("1.50"),
        "At": at,
        "Day": at.date(),
        "Clock": at.time().replace(tzinfo=None),
        "Flag": True,
        "Ratio": 0.5,
        "Raw": b"\0\xff",
        "Text": "𝄞 'quoted' \\ %",
    }
    configs = {
        "auto.create": "true",
        "auto.evolve": "true",
        **UPSERT,
        "pk.fields": "Id",
        "quote.sql.identifiers": quotes,
    }
    sink = SqlSinkHarness(jdbc, {**configs, "db.timezone": "Europe/Berlin"})
    sink.put(*(record(n, Struct(WIDE, row)) for n in range(3)))
    source = SourceHarness(jdbc, {"mode": "bulk", "db.timezone": "Europe/Berlin", "quote.sql.identifiers": quotes})
    (found,) = source.batch()
    read = {field.name: found.value[field.name] for field in found.value.schema.fields}
    assert read["At"].datetime() == at
    assert sink.query("SELECT At FROM t") == [(dt.datetime(2024, 2, 29, 13, 0, 0, 123000),)]
    assert (read["Day"].date(), read["Clock"].time()) == (row["Day"], row["Clock"])
    assert {name: read[name] for name in ("Id", "Price", "Flag", "Ratio", "Raw", "Text")} == {
        name: row[name] for name in ("Id", "Price", "Flag", "Ratio", "Raw", "Text")
    }
    wider = SchemaBuilder(Type.STRUCT)
    for field in WIDE.fields:
        wider.field(field.name, field.schema)
    wide = wider.field("more", OPTIONAL_STRING_SCHEMA).build()
    sink.put(record(5, Struct(wide, {**row, "more": "x"})))
    assert sink.query("SELECT more, Text FROM t") == [("x", row["Text"])]


def test_a_timestamp_column_gets_the_moment_in_any_zone(engine: Any, jdbc: str) -> None:
    schema = SchemaBuilder(Type.STRUCT).field("id", INT64_SCHEMA).field("at", TIMESTAMP_SCHEMA).build()
    execute(engine, "CREATE TABLE t (id bigint PRIMARY KEY, at timestamp(3) NULL)")
    at = dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)
    SqlSinkHarness(jdbc, {**UPSERT, "db.timezone": "Europe/Berlin"}).put(record(0, Struct(schema, {"id": 1, "at": at})))
    assert execute(engine, "SELECT UNIX_TIMESTAMP(at) FROM t") == [(Decimal("1709208000.000"),)]
