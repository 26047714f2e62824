"""Records as the connector reads them, for tests without a broker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from kafkapy.consumer.arrow import record_schema

HOUR_MS = 1_795_478_400_000
"""2026-11-24T00:00Z."""


class Sent(NamedTuple):
    value: bytes | None
    id: str | None = None
    ms: int = HOUR_MS
    key: bytes | None = None


def records(sent: Sequence[Sent], topic: str = "t", partition: int = 0, offset: int = 0) -> pa.RecordBatch:
    rows: list[dict[str, Any]] = [
        {
            "key": each.key,
            "value": each.value,
            "topic": topic,
            "partition": partition,
            "offset": offset + number,
            "timestamp": each.ms * 1000,
            "timestampType": 0,
            "headers": None
            if each.id is None
            else [{"key": "a", "value": b""}, {"key": "event-id", "value": each.id.encode()}],
        }
        for number, each in enumerate(sent)
    ]
    return pa.RecordBatch.from_pylist(rows, record_schema(True, "us"))
