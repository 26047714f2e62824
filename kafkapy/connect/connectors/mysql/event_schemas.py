"""Schemas of events that only MySQL and MariaDB have: source and changes of tables (Debezium's)."""

from __future__ import annotations

from functools import cache

from kafkapy.connect.connectors.debezium.event_schemas import SNAPSHOT_SCHEMA
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.schema import (
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Type,
)


@cache
def source_schema(flavor: str) -> Schema:
    """Return the schema of `source`; `flavor`: mysql or mariadb."""
    builder = SchemaBuilder(Type.STRUCT).name(f"io.debezium.connector.{flavor}.Source")
    for name in ("version", "connector", "name"):
        builder.field(name, STRING_SCHEMA)
    builder.field("ts_ms", INT64_SCHEMA).field("snapshot", SNAPSHOT_SCHEMA).field("db", STRING_SCHEMA)
    builder.field("sequence", OPTIONAL_STRING_SCHEMA)
    builder.field("ts_us", OPTIONAL_INT64_SCHEMA).field("ts_ns", OPTIONAL_INT64_SCHEMA)
    builder.field("table", OPTIONAL_STRING_SCHEMA).field("server_id", INT64_SCHEMA)
    builder.field("gtid", OPTIONAL_STRING_SCHEMA).field("file", STRING_SCHEMA).field("pos", INT64_SCHEMA)
    builder.field("row", INT32_SCHEMA).field("thread", OPTIONAL_INT64_SCHEMA)
    return builder.field("query", OPTIONAL_STRING_SCHEMA).build()


@cache
def schema_change_key(flavor: str) -> Schema:
    """Return the schema of keys in the topic of changes of tables."""
    builder = SchemaBuilder(Type.STRUCT).name(f"io.debezium.connector.{flavor}.SchemaChangeKey").version(1)
    return builder.field("databaseName", STRING_SCHEMA).build()


@cache
def schema_change_value(flavor: str) -> Schema:
    """Return the schema of values in the topic of changes of tables."""
    builder = SchemaBuilder(Type.STRUCT).name(f"io.debezium.connector.{flavor}.SchemaChangeValue").version(1)
    builder.field("source", source_schema(flavor)).field("ts_ms", INT64_SCHEMA)
    builder.field("databaseName", OPTIONAL_STRING_SCHEMA).field("schemaName", OPTIONAL_STRING_SCHEMA)
    return builder.field("ddl", OPTIONAL_STRING_SCHEMA).build()
