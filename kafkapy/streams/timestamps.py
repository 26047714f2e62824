"""Timestamp extractors."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from typing import Any, Protocol

from kafkapy.streams.errors import StreamsException

LOG = logging.getLogger(__name__)


class TimestampExtractor(Protocol):
    """Returns the timestamp of a consumed record.

    Example:
        >>> class ByValue(TimestampExtractor):
        ...     def extract(self, record, partition_time):
        ...         return int(record.value)
        >>> from types import SimpleNamespace
        >>> ByValue().extract(SimpleNamespace(value=b"42"), -1)
        42
    """

    def extract(self, record: Any, partition_time: int) -> int:
        """The time of a record.

        Args:
            record: With topic, partition, offset, timestamp, key, value and headers; key and value are deserialized.
            partition_time: The highest time of the partition so far; -1 before its first record.

        Returns:
            ms since the epoch; a record with a negative one is dropped.
        """


class _ExtractRecordMetadataTimestamp(ABC):
    """Uses the record's timestamp, if it has one."""

    def extract(self, record: Any, partition_time: int) -> int:
        """Return the time of a record.

        Args:
            record: The record.
            partition_time: The highest timestamp of the partition so far, in ms since the epoch; -1: none.
        """
        timestamp: int = record.timestamp
        if timestamp < 0:
            return self._on_invalid_timestamp(record, partition_time)
        return timestamp

    @abstractmethod
    def _on_invalid_timestamp(self, record: Any, partition_time: int) -> int: ...


class FailOnInvalidTimestamp(_ExtractRecordMetadataTimestamp):
    """Uses the record's timestamp; a record without one stops the application. The default.

    Example:
        >>> from types import SimpleNamespace
        >>> FailOnInvalidTimestamp().extract(SimpleNamespace(timestamp=42), -1)
        42
    """

    def _on_invalid_timestamp(self, record: Any, partition_time: int) -> int:
        message = (
            f"Input record {record} has invalid (negative) timestamp. Possibly because a pre-0.10 producer client was used to "
            "write this record to Kafka without embedding a timestamp. Use a different TimestampExtractor to process this data."
        )
        LOG.error(message)
        raise StreamsException(message)


class LogAndSkipOnInvalidTimestamp(_ExtractRecordMetadataTimestamp):
    """Uses the record's timestamp; a record without one is dropped.

    Example:
        >>> from types import SimpleNamespace
        >>> LogAndSkipOnInvalidTimestamp().extract(SimpleNamespace(timestamp=42), -1)
        42
    """

    def _on_invalid_timestamp(self, record: Any, partition_time: int) -> int:
        LOG.warning("Input record %s will be dropped because it has an invalid (negative) timestamp.", record)
        return int(record.timestamp)


class UsePartitionTimeOnInvalidTimestamp(_ExtractRecordMetadataTimestamp):
    """Uses the record's timestamp; a record without one gets the highest timestamp of its partition so far.

    Example:
        >>> from types import SimpleNamespace
        >>> UsePartitionTimeOnInvalidTimestamp().extract(SimpleNamespace(timestamp=42), -1)
        42
    """

    def _on_invalid_timestamp(self, record: Any, partition_time: int) -> int:
        if partition_time < 0:
            raise StreamsException(
                f"Could not infer new timestamp for input record {record} because partition time is unknown."
            )
        return partition_time


class WallclockTimestampExtractor:
    """Uses the time at which a record is read.

    Example:
        >>> WallclockTimestampExtractor().extract(None, -1) > 1_700_000_000_000
        True
    """

    def extract(self, record: Any, partition_time: int) -> int:
        """Return the time of a record.

        Args:
            record: The record.
            partition_time: The highest timestamp of the partition so far, in ms since the epoch; -1: none.
        """
        return time.time_ns() // 1_000_000
