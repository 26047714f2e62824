"""Where in a task a record can fail, and whether that is tolerated (Kafka's `Stage`, `ToleranceType`)."""

from __future__ import annotations

from enum import Enum


class Stage(Enum):
    """What was done with the record; the name is in dead letters' headers."""

    TASK_POLL = "TASK_POLL"
    TASK_PUT = "TASK_PUT"
    TRANSFORMATION = "TRANSFORMATION"
    KEY_CONVERTER = "KEY_CONVERTER"
    VALUE_CONVERTER = "VALUE_CONVERTER"
    HEADER_CONVERTER = "HEADER_CONVERTER"
    KAFKA_PRODUCE = "KAFKA_PRODUCE"
    KAFKA_CONSUME = "KAFKA_CONSUME"


class ToleranceType(Enum):
    """`errors.tolerance`: NONE, an error ends the task; ALL, the record is skipped."""

    NONE = "none"
    ALL = "all"
