"""Schemas of events that only PostgreSQL has: source and message (Debezium's)."""

from __future__ import annotations

from typing import Final

from kafkapy.connect.connectors.debezium.event_schemas import SNAPSHOT_SCHEMA, TRANSACTION_BLOCK_SCHEMA
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.schema import (
    INT64_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Type,
)

SOURCE_SCHEMA: Final = (
    SchemaBuilder(Type.STRUCT)
    .name("io.debezium.connector.postgresql.Source")
    .field("version", STRING_SCHEMA)
    .field("connector", STRING_SCHEMA)
    .field("name", STRING_SCHEMA)
    .field("ts_ms", INT64_SCHEMA)
    .field("snapshot", SNAPSHOT_SCHEMA)
    .field("db", STRING_SCHEMA)
    .field("sequence", OPTIONAL_STRING_SCHEMA)
    .field("ts_us", OPTIONAL_INT64_SCHEMA)
    .field("ts_ns", OPTIONAL_INT64_SCHEMA)
    .field("schema", STRING_SCHEMA)
    .field("table", STRING_SCHEMA)
    .field("txId", OPTIONAL_INT64_SCHEMA)
    .field("lsn", OPTIONAL_INT64_SCHEMA)
    .field("xmin", OPTIONAL_INT64_SCHEMA)
    .build()
)
MESSAGE_BLOCK_SCHEMA: Final = (
    SchemaBuilder(Type.STRUCT)
    .name("io.debezium.connector.postgresql.Message")
    .version(1)
    .field("prefix", OPTIONAL_STRING_SCHEMA)
    .field("content", SchemaBuilder(Type.BYTES).optional().build())
    .build()
)


MESSAGE_KEY_SCHEMA: Final = (
    SchemaBuilder(Type.STRUCT)
    .name("io.debezium.connector.postgresql.MessageKey")
    .version(1)
    .field("prefix", OPTIONAL_STRING_SCHEMA)
    .build()
)
MESSAGE_VALUE_SCHEMA: Final = (
    SchemaBuilder(Type.STRUCT)
    .name("io.debezium.connector.postgresql.MessageValue")
    .version(1)
    .field("op", STRING_SCHEMA)
    .field("ts_ms", OPTIONAL_INT64_SCHEMA)
    .field("source", SOURCE_SCHEMA)
    .field("transaction", TRANSACTION_BLOCK_SCHEMA)
    .field("message", MESSAGE_BLOCK_SCHEMA)
    .build()
)
