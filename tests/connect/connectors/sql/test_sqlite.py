"""SQL connectors with SQLite: modes, offsets, restarts, folding of changes, configs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.connectors.sql.sink_config import parse_sink_config
from kafkapy.connect.connectors.sql.source_config import parse_source_config
from kafkapy.connect.connectors.sql.urls import parse_url
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.schema import INT64_SCHEMA, OPTIONAL_FLOAT64_SCHEMA, OPTIONAL_STRING_SCHEMA, Type
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.plugins import Plugins, class_name_of
from tests.connect.connectors.sql.harness import SourceHarness, SqlSinkHarness, execute, record

ROW = SchemaBuilder(Type.STRUCT).field("id", INT64_SCHEMA).field("name", OPTIONAL_STRING_SCHEMA).build()
WIDER = (
    SchemaBuilder(Type.STRUCT)
    .field("id", INT64_SCHEMA)
    .field("name", OPTIONAL_STRING_SCHEMA)
    .field("more", OPTIONAL_FLOAT64_SCHEMA)
    .build()
)
MODES = {"incrementing.column.name": "id", "timestamp.column.name": "at", "batch.max.rows": "4"}
UPSERT = {"insert.mode": "upsert", "pk.mode": "record_key", "pk.fields": "id", "delete.enabled": "true"}


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"jdbc:sqlite:{tmp_path}/rows.db"


@pytest.fixture
def engine(tmp_path: Path) -> Any:
    return sa.create_engine(f"sqlite:///{tmp_path}/rows.db", poolclass=sa.pool.NullPool)


@pytest.fixture
def seven(engine: Any) -> Any:
    """Rows 1 to 7, three with each timestamp."""
    execute(engine, "CREATE TABLE t (id INTEGER PRIMARY KEY NOT NULL, at TIMESTAMP NOT NULL)")
    for number in range(1, 8):
        execute(engine, f"INSERT INTO t VALUES ({number}, '2024-01-01 00:00:0{(number - 1) // 3}')")
    return engine


@pytest.mark.parametrize("query", ["", "SELECT * FROM t WHERE id > 0"])
@pytest.mark.parametrize("mode", ["incrementing", "timestamp", "timestamp+incrementing"])
def test_a_restart_at_any_batch_skips_no_row(seven: Any, url: str, mode: str, query: str) -> None:
    offsets: list[Any] = []
    seen: list[int] = []
    for _ in range(4):
        source = SourceHarness(url, {**MODES, "mode": mode, "query": query}, offsets)
        seen += source.ids()
        source.task.stop()
    assert set(seen) == set(range(1, 8))
    if mode != "timestamp":
        assert seen == list(range(1, 8))


def test_bulk_mode_reads_all_rows_at_each_poll(seven: Any, url: str) -> None:
    source = SourceHarness(url, {**MODES, "mode": "bulk"})
    assert source.ids(4) == 2 * list(range(1, 8))


def test_offsets_are_those_of_confluent(seven: Any, url: str) -> None:
    stored: list[Any] = [({"protocol": "1", "table": "t"}, {"incrementing": 5})]
    source = SourceHarness(url, {**MODES, "mode": "incrementing"}, stored)
    found = source.batch()
    assert [(each.source_partition, each.source_offset) for each in found] == [
        ({"protocol": "1", "table": "t"}, {"incrementing": 6}),
        ({"protocol": "1", "table": "t"}, {"incrementing": 7}),
    ]


def test_new_columns_are_noticed(seven: Any, url: str) -> None:
    source = SourceHarness(url, {**MODES, "mode": "incrementing"})
    source.ids(2)
    execute(seven, "ALTER TABLE t ADD COLUMN name TEXT", "INSERT INTO t VALUES (8, '2024-01-01', 'new')")
    assert source.batch()[0].value["name"] == "new"


def test_tables_are_chosen_and_columns_are_checked(seven: Any, url: str) -> None:
    execute(seven, "CREATE TABLE other (id INTEGER, at TEXT)")
    assert len(SourceHarness(url, {"mode": "bulk"}).task_configs) == 2
    assert len(SourceHarness(url, {"mode": "bulk", "table.include.list": "oth.*"}).task_configs) == 1
    with pytest.raises(ConnectException, match=r"validate\.non\.null"):
        SourceHarness(url, {**MODES, "mode": "incrementing", "table.whitelist": "other"})


def test_changes_of_a_key_in_one_batch_end_as_the_last_one(engine: Any, url: str) -> None:
    execute(engine, "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, more REAL)")
    sink = SqlSinkHarness(url, UPSERT)
    sink.put(
        record(0, Struct(WIDER, {"id": 1, "name": "a", "more": 1.5}), 1),
        record(1, Struct(ROW, {"id": 1, "name": "b"}), 1),
        record(2, Struct(WIDER, {"id": 2, "name": "a", "more": 1.5}), 2),
        record(3, None, 2),
        record(4, Struct(ROW, {"id": 2, "name": "c"}), 2),
        record(5, Struct(ROW, {"id": 3, "name": "d"}), 3),
        record(6, None, 3),
    )
    assert sink.query("SELECT * FROM t ORDER BY id") == [(1, "b", 1.5), (2, "c", None)]


def test_tables_are_created_and_extended(engine: Any, url: str) -> None:
    configs = {"auto.create": "true", "auto.evolve": "true", "pk.mode": "record_value", "pk.fields": "id"}
    sink = SqlSinkHarness(url, configs)
    sink.put(record(0, Struct(ROW, {"id": 1, "name": "a"})))
    sink.put(record(1, Struct(WIDER, {"id": 2, "name": "b", "more": 0.5})))
    assert sink.query("SELECT * FROM t ORDER BY id") == [(1, "a", None), (2, "b", 0.5)]


def test_a_column_that_others_have_added_is_noticed(engine: Any, url: str) -> None:
    execute(engine, "CREATE TABLE t (id INTEGER, name TEXT)")
    sink = SqlSinkHarness(url)
    sink.put(record(0, Struct(ROW, {"id": 1, "name": "a"})))
    with pytest.raises(ConnectException, match=r"auto\.evolve"):
        sink.put(record(1, Struct(WIDER, {"id": 2, "name": "b", "more": 0.5})))
    execute(engine, "ALTER TABLE t ADD COLUMN more REAL")
    sink.put(record(1, Struct(WIDER, {"id": 2, "name": "b", "more": 0.5})))
    assert sink.query("SELECT more FROM t ORDER BY id") == [(None,), (0.5,)]


def test_what_is_refused_is_reported_and_fails_without_a_reporter(engine: Any, url: str) -> None:
    execute(engine, "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
    configs = {**UPSERT, "delete.enabled": "false"}
    sink = SqlSinkHarness(url, configs, reports=True)
    bad = [record(1, Struct(ROW, {"id": 1}), 1), record(2, None, 1), record(3, "text", 1)]
    sink.put(record(0, Struct(ROW, {"id": 0, "name": "a"}), 0), *bad, record(4, Struct(ROW, {"id": 4, "name": "b"}), 4))
    assert sorted(each.kafka_offset for each, _ in sink.reported) == [1, 2, 3]
    assert sink.query("SELECT id FROM t ORDER BY id") == [(0,), (4,)]
    with pytest.raises(ConnectException, match=r"delete\.enabled"):
        SqlSinkHarness(url, configs).put(record(2, None, 1))


def test_objects_without_a_schema_and_change_events_are_rows(engine: Any, url: str) -> None:
    execute(engine, "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)")
    sink = SqlSinkHarness(url, UPSERT)
    event = {"before": None, "after": {"id": 2, "name": "b"}, "source": {}, "op": "c"}
    sink.put(record(0, {"id": 1, "name": "a"}, 1), record(1, event, 2))
    assert sink.query("SELECT * FROM t ORDER BY id") == [(1, "a"), (2, "b")]
    sink.put(record(2, {**event, "op": "d", "after": None, "before": {"id": 2}}, 2), record(3, None, 2))
    assert sink.query("SELECT * FROM t") == [(1, "a")]


def test_urls() -> None:
    assert parse_url("jdbc:mysql://h/d?user=a&password=b")[:4] == ("mysql", "mysql+pymysql://h/d", "a", "b")
    assert parse_url("jdbc:sqlserver://h:1433;databaseName=d;user=a").url == "mssql+pymssql://h:1433/d"
    assert parse_url("jdbc:oracle:thin:@//h:1521/s").url == "oracle+oracledb://h:1521/?service_name=s"
    for wrong in ("jdbc:db2://h/d", "h:5432", "jdbc:postgresql://h/d?targetServerType=primary"):
        with pytest.raises(ConfigException):
            parse_url(wrong)


def test_configs_that_do_not_fit_are_refused() -> None:
    plain = {"connection.url": "jdbc:sqlite:/a", "topic.prefix": "a"}
    for wrong in ({"mode": "incrementing"}, {"mode": "bulk", "query": "SELECT 1", "table.whitelist": "t"}):
        with pytest.raises(ConfigException):
            parse_source_config({**plain, **wrong})
    for wrong in ({"insert.mode": "upsert"}, {"delete.enabled": "true"}, {"db.timezone": "Nowhere"}):
        with pytest.raises(ConfigException):
            parse_sink_config({**plain, **wrong})


def test_java_names_are_found() -> None:
    for name in ("io.confluent.connect.jdbc.JdbcSourceConnector", "io.confluent.connect.jdbc.JdbcSinkConnector"):
        assert class_name_of(Plugins().connector_class(name)) == name
