"""Computes the size of a Fetch response before it is created, to check its quota first (Kafka's
`FetchResponse.sizeOf`).
"""

from __future__ import annotations

from collections.abc import Iterable


def fetch_response_size(version: int, partitions: Iterable[tuple[str, int]]) -> int:
    """Return the bytes of a response with these partitions: (topic, bytes of records), grouped by topic.

    Exact except for tagged fields, aborted transactions, and the lengths of lists of more than 126.

    Example:
        >>> fetch_response_size(11, [("t", 1000), ("t", 0)])
        1109
    """
    is_flexible = version >= 12
    fixed = _PARTITION_SIZES[min(version, 12)]
    size = _response_size(version)
    last: str | None = None
    for topic, records in partitions:
        if topic != last:
            last = topic
            size += _topic_size(version, topic)
        size += fixed + records
        if is_flexible:
            size += ((records + 1).bit_length() + 6) // 7
    return size


def _response_size(version: int) -> int:
    """Return the size of frame length, throttle time, error code and session, number of topics, tagged fields."""
    return 4 + (4 if version >= 1 else 0) + (6 if version >= 7 else 0) + (2 if version >= 12 else 4)


def _topic_size(version: int, topic: str) -> int:
    if version >= 13:
        return 16 + 2
    return len(topic.encode()) + (3 if version >= 12 else 6)


def _partition_size(version: int) -> int:
    size = 4 + 2 + 8  # index, error code, high watermark
    if version >= 4:
        size += 8 + (1 if version >= 12 else 4)  # last stable offset, aborted transactions
    if version >= 5:
        size += 8  # start of the log
    if version >= 11:
        size += 4  # preferred replica
    return size + (1 if version >= 12 else 4)  # tagged fields; length of the records


_PARTITION_SIZES = [_partition_size(version) for version in range(13)]
