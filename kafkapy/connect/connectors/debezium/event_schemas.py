"""Schemas of events that all connectors share: envelope, transaction, heartbeat (Debezium's)."""

from __future__ import annotations

from typing import Final

from kafkapy.connect.connectors.debezium.semantic_types import ENUM
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.schema import (
    INT64_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Type,
)

CONNECTOR_VERSION: Final = "3.0.8.Final"
"""The version of Debezium whose events these are."""
SNAPSHOT_SCHEMA: Final = (
    SchemaBuilder(Type.STRING)
    .name(ENUM)
    .version(1)
    .parameter("allowed", "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental")
    .default("false")
    .optional()
    .build()
)
TRANSACTION_BLOCK_SCHEMA: Final = (
    SchemaBuilder(Type.STRUCT)
    .name("event.block")
    .version(1)
    .optional()
    .field("id", STRING_SCHEMA)
    .field("total_order", INT64_SCHEMA)
    .field("data_collection_order", INT64_SCHEMA)
    .build()
)
COUNT_SCHEMA: Final = (
    SchemaBuilder(Type.STRUCT)
    .name("event.collection")
    .version(1)
    .optional()
    .field("data_collection", STRING_SCHEMA)
    .field("event_count", INT64_SCHEMA)
    .build()
)


def envelope_schema(name: str, row: Schema, source: Schema) -> Schema:
    """Return the schema of a table's events.

    Args:
        name: Of the schema.
        row: Schema of the table's rows.
        source: Schema of `source`.

    Example:
        >>> envelope_schema("a.Envelope", *[SchemaBuilder(Type.STRUCT).optional().build()] * 2).version
        2
    """
    builder = SchemaBuilder(Type.STRUCT).name(name).version(2)
    builder.field("before", row).field("after", row).field("source", source)
    return _end(builder)


def _end(builder: SchemaBuilder) -> Schema:
    builder.field("transaction", TRANSACTION_BLOCK_SCHEMA).field("op", STRING_SCHEMA)
    for name in ("ts_ms", "ts_us", "ts_ns"):
        builder.field(name, OPTIONAL_INT64_SCHEMA)
    return builder.build()


HEARTBEAT_KEY_SCHEMA: Final = (
    SchemaBuilder(Type.STRUCT)
    .name("io.debezium.connector.common.ServerNameKey")
    .version(1)
    .field("serverName", STRING_SCHEMA)
    .build()
)
HEARTBEAT_VALUE_SCHEMA: Final = (
    SchemaBuilder(Type.STRUCT)
    .name("io.debezium.connector.common.Heartbeat")
    .version(1)
    .field("ts_ms", INT64_SCHEMA)
    .build()
)
TRANSACTION_KEY_SCHEMA: Final = (
    SchemaBuilder(Type.STRUCT)
    .name("io.debezium.connector.common.TransactionMetadataKey")
    .version(1)
    .field("id", STRING_SCHEMA)
    .build()
)
TRANSACTION_VALUE_SCHEMA: Final = (
    SchemaBuilder(Type.STRUCT)
    .name("io.debezium.connector.common.TransactionMetadataValue")
    .version(1)
    .field("status", STRING_SCHEMA)
    .field("id", STRING_SCHEMA)
    .field("event_count", OPTIONAL_INT64_SCHEMA)
    .field("data_collections", SchemaBuilder.array(COUNT_SCHEMA).optional().build())
    .field("ts_ms", INT64_SCHEMA)
    .build()
)
