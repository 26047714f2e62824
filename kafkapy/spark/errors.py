"""The connector's exceptions; Spark shows them as PYTHON_DATA_SOURCE_ERROR with their message."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class OptionError(ValueError):
    """An option, or a combination of options, is invalid (Spark's source: IllegalArgumentException)."""


class DataLossError(RuntimeError):
    """Records to be read are gone from the log, and `failOnDataLoss` is true (KAFKA_DATA_LOSS)."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            "Some data may have been lost because they are not available in Kafka any more; either the data was aged "
            "out by Kafka or the topic may have been deleted before all the data in the topic was processed. If you "
            "don't want your streaming query to fail on such cases, set the source option failOnDataLoss to false. "
            f"Reason: {reason}"
        )


class OffsetError(RuntimeError):
    """Requested offsets do not match the partitions or each other."""


class SinkError(RuntimeError):
    """A row cannot be converted to a record."""


DATA_LOSS_WARNING = (
    "Some data may have been lost because they are not available in Kafka any more; either the data was aged out by "
    "Kafka or the topic may have been deleted before all the data in the topic was processed. If you want your "
    'streaming query to fail on such cases, set the source option "failOnDataLoss" to "true".'
)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a suggestion with the most similar known name, to end a sentence; "" if none is similar.
    Case-insensitive."""
    names = {one.lower(): one for one in known}
    nearest = get_close_matches(name.lower(), names, 1)
    return f" (did you mean '{names[nearest[0]]}'?)" if nearest else ""
