"""Records of MirrorMaker's own topics, in Kafka's bytes (`OffsetSync`, `Checkpoint`, `Heartbeat`)."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from kafkapy.structs import OffsetAndMetadata, TopicPartition

_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")
_VERSION: Final = 0
_MAX_STRING_BYTES: Final = 32_767


class OffsetSync(NamedTuple):
    """A record of the source cluster and its copy on the target cluster.

    Attributes:
        topic_partition: Partition of the source cluster.
        upstream_offset: The record's offset there.
        downstream_offset: The offset of its copy.

    Example:
        >>> sync = OffsetSync(TopicPartition("orders", 3), 10, 8)
        >>> sync.record_key().hex(), OffsetSync.from_record(sync.record_key(), sync.record_value()) == sync
        ('00066f726465727300000003', True)
    """

    topic_partition: TopicPartition
    upstream_offset: int
    downstream_offset: int

    def record_key(self) -> bytes:
        return _string(self.topic_partition.topic) + _INT32.pack(self.topic_partition.partition)

    def record_value(self) -> bytes:
        return _INT64.pack(self.upstream_offset) + _INT64.pack(self.downstream_offset)

    @classmethod
    def from_record(cls, key: bytes | None, value: bytes | None) -> OffsetSync:
        """Parse a record of the offset syncs topic. Raises ValueError."""
        keys, values = _FieldReader(key), _FieldReader(value)
        return cls(TopicPartition(keys.string(), keys.number(_INT32)), values.number(_INT64), values.number(_INT64))


class Checkpoint(NamedTuple):
    """A group's offset on the source cluster, translated to the target cluster.

    Attributes:
        group: Id of the group.
        topic_partition: Partition of the target cluster.
        upstream_offset: The group's committed offset on the source cluster.
        downstream_offset: The translated offset.
        metadata: The committed offset's metadata. Default: empty.

    Example:
        >>> Checkpoint("g", TopicPartition("A.orders", 0), 10, 8).offset_and_metadata()
        OffsetAndMetadata(offset=8, metadata='', leader_epoch=-1)
    """

    group: str
    topic_partition: TopicPartition
    upstream_offset: int
    downstream_offset: int
    metadata: str = ""

    def offset_and_metadata(self) -> OffsetAndMetadata:
        """Return the translated offset for a commit."""
        return OffsetAndMetadata(self.downstream_offset, self.metadata)

    def connect_partition(self) -> dict[str, object]:
        """Return the source partition of the checkpoint's record, its keys in the order of Java's `HashMap`."""
        topic, partition = self.topic_partition
        return {"partition": partition, "topic": topic, "group": self.group}

    def record_key(self) -> bytes:
        topic, partition = self.topic_partition
        return _string(self.group) + _string(topic) + _INT32.pack(partition)

    def record_value(self) -> bytes:
        offsets = _INT64.pack(self.upstream_offset) + _INT64.pack(self.downstream_offset)
        return _INT16.pack(_VERSION) + offsets + _string(self.metadata)

    @classmethod
    def from_record(cls, key: bytes | None, value: bytes | None) -> Checkpoint:
        """Parse a record of a checkpoints topic. Raises ValueError."""
        values = _FieldReader(value)
        values.version()
        upstream, downstream, metadata = values.number(_INT64), values.number(_INT64), values.string()
        keys = _FieldReader(key)
        group, topic, partition = keys.string(), keys.string(), keys.number(_INT32)
        return cls(group, TopicPartition(topic, partition), upstream, downstream, metadata)


class Heartbeat(NamedTuple):
    """A heartbeat of the flow from one cluster to another.

    Attributes:
        source_cluster_alias: The cluster that is read.
        target_cluster_alias: The cluster that is written.
        timestamp: Time of its creation, ms since 1970.

    Example:
        >>> Heartbeat("A", "B", 1_700_000_000_000).record_key().hex()
        '000141000142'
    """

    source_cluster_alias: str
    target_cluster_alias: str
    timestamp: int

    def connect_partition(self) -> dict[str, object]:
        """Return the source partition of the heartbeat's record."""
        return {"sourceClusterAlias": self.source_cluster_alias, "targetClusterAlias": self.target_cluster_alias}

    def record_key(self) -> bytes:
        return _string(self.source_cluster_alias) + _string(self.target_cluster_alias)

    def record_value(self) -> bytes:
        return _INT16.pack(_VERSION) + _INT64.pack(self.timestamp)

    @classmethod
    def from_record(cls, key: bytes | None, value: bytes | None) -> Heartbeat:
        """Parse a record of a heartbeats topic. Raises ValueError."""
        values, keys = _FieldReader(value), _FieldReader(key)
        values.version()
        timestamp = values.number(_INT64)
        return cls(keys.string(), keys.string(), timestamp)


def _string(text: str) -> bytes:
    encoded = text.encode()
    if len(encoded) > _MAX_STRING_BYTES:
        raise ValueError(f"A text of {len(encoded)} bytes is too long: {_MAX_STRING_BYTES} at most")
    return _INT16.pack(len(encoded)) + encoded


class _FieldReader:
    """Invariant: the bytes before `_place` have been read. Bytes after the last field are ignored, as in Kafka."""

    def __init__(self, data: bytes | None) -> None:
        if data is None:
            raise ValueError("The record has no bytes")
        self._data = data
        self._place = 0

    def number(self, layout: struct.Struct) -> int:
        end = self._place + layout.size
        if end > len(self._data):
            raise ValueError(f"The record is cut off: {len(self._data)} bytes")
        number: int = layout.unpack_from(self._data, self._place)[0]
        self._place = end
        return number

    def string(self) -> str:
        size = self.number(_INT16)
        end = self._place + size
        if size < 0 or end > len(self._data):
            raise ValueError(f"A text of the record has a wrong length: {size}")
        text = bytes(self._data[self._place : end]).decode()
        self._place = end
        return text

    def version(self) -> None:
        version = self.number(_INT16)
        if version != _VERSION:
            raise ValueError(f"The record has the unknown version {version}")
