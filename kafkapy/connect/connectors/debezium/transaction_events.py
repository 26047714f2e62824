"""Events that tell of the beginning and the end of transactions."""

from __future__ import annotations

from collections.abc import Mapping

from kafkapy.connect.connectors.debezium.change_events import ChangeEvent
from kafkapy.connect.connectors.debezium.event_schemas import (
    COUNT_SCHEMA,
    TRANSACTION_KEY_SCHEMA,
    TRANSACTION_VALUE_SCHEMA,
)
from kafkapy.connect.connectors.debezium.settings import DebeziumSettings
from kafkapy.connect.data.struct import Struct


def transaction_event(
    settings: DebeziumSettings, status: str, id_: str, ms: int, counts: Mapping[str, int] | None
) -> ChangeEvent:
    """Return an event.

    Args:
        settings: The topic.
        status: BEGIN or END.
        id_: Of the transaction.
        ms: When it was, since 1970.
        counts: Of an end: the number of events by table.
    """
    value = Struct(TRANSACTION_VALUE_SCHEMA, {"status": status, "id": id_, "ts_ms": ms})
    if counts is not None:
        parts = [
            Struct(COUNT_SCHEMA, {"data_collection": table, "event_count": count}) for table, count in counts.items()
        ]
        value.put("event_count", sum(counts.values())).put("data_collections", parts)
    topic = settings.topic_of(settings["topic.transaction"])
    key = Struct(TRANSACTION_KEY_SCHEMA, {"id": id_})
    return ChangeEvent(topic, TRANSACTION_KEY_SCHEMA, key, TRANSACTION_VALUE_SCHEMA, value)
