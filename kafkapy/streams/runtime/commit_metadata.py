"""The metadata committed with an offset: partition time and processor metadata (Kafka's `TopicPartitionMetadata`)."""

from __future__ import annotations

import base64
import logging
import struct
from collections.abc import Mapping
from typing import Final, NamedTuple

log = logging.getLogger("kafkapy.streams")

_VERSION: Final = 2


class CommitMetadata(NamedTuple):
    """The commit metadata of one partition.

    Attributes:
        partition_time: The highest timestamp of its processed records; -1: unknown.
        processor_metadata: Values of processors by key, such as the end of the last emitted window.
    """

    partition_time: int = -1
    processor_metadata: Mapping[str, int] = {}

    def encode(self) -> str:
        """Encode for the metadata field of a committed offset.

        Example:
            >>> CommitMetadata(7).encode()
            'AgAAAAAAAAAH'
        """
        data = struct.pack(">bq", _VERSION, self.partition_time)
        if self.processor_metadata:
            data += struct.pack(">i", len(self.processor_metadata))
            for key, value in self.processor_metadata.items():
                name = key.encode()
                data += struct.pack(">i", len(name)) + name + struct.pack(">q", value)
        return base64.b64encode(data).decode()


def decode_commit_metadata(text: str) -> CommitMetadata:
    """Decode the metadata of a committed offset. Undecodable metadata, perhaps of another program, is logged and
    ignored."""
    if not text:
        return CommitMetadata()
    try:
        data = base64.b64decode(text, validate=True)
        version = data[0]
        if version not in (1, _VERSION):
            log.warning("The metadata of a committed offset has version %d, %d is the latest known", version, _VERSION)
            return CommitMetadata()
        (time,) = struct.unpack_from(">q", data, 1)
        return CommitMetadata(time, _numbers(data[9:]) if version == _VERSION and len(data) > 9 else {})
    except (ValueError, IndexError, struct.error):
        log.warning("The metadata of a committed offset is not understood")
        return CommitMetadata()


def _numbers(data: bytes) -> dict[str, int]:
    numbers: dict[str, int] = {}
    (count,) = struct.unpack_from(">i", data)
    at = 4
    for _ in range(count):
        (length,) = struct.unpack_from(">i", data, at)
        key = data[at + 4 : at + 4 + length].decode()
        at += 4 + length
        (numbers[key],) = struct.unpack_from(">q", data, at)
        at += 8
    return numbers
