"""The stages at which a record can fail, and the tolerance of errors (Kafka's `Stage`, `ToleranceType`)."""

from __future__ import annotations

from enum import Enum


class Stage(Enum):
    """The stage of a record's processing; its name is in the headers of dead letters."""

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
