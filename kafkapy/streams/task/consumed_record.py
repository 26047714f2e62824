"""A record that a task has been given."""

from __future__ import annotations

from typing import Any, NamedTuple

from kafkapy.streams.records import Headers


class ConsumedRecord(NamedTuple):
    """A record of a topic. Key and value are bytes as read, and objects after deserialization."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: Any
    value: Any
    headers: Headers
