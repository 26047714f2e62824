"""Which source partitions have offsets, connector by connector (Kafka's `OffsetUtils.processPartitionKey`)."""

from __future__ import annotations

import logging

from kafkapy.connect.runtime.partition_key import PartitionKey, partition_key
from kafkapy.connect.topics.topic_json import java_kind, loads

log = logging.getLogger("kafkapy.connect.topics")


class OffsetPartitions:
    """Invariant: a connector has an entry while one of its partitions has an offset. Its owner keeps threads apart.

    Example:
        >>> table = OffsetPartitions()
        >>> table.track(b'["lines",{"filename":"a"}]', True)
        >>> table.of("lines")
        [{'filename': 'a'}]
    """

    def __init__(self) -> None:
        self._partitions: dict[str, dict[PartitionKey, dict[str, object]]] = {}

    def track(self, key: bytes | None, has_offset: bool) -> None:
        """Note a record.

        Args:
            key: JSON, `[connector, partition]`; anything else is passed over with a warning.
            has_offset: False: the partition's offset is gone.
        """
        try:
            parsed = loads(key)
        except ValueError:
            log.warning("Ignoring offset partition key with unknown serialization. Expected json.")
            return
        if not isinstance(parsed, list) or len(parsed) != 2 or not isinstance(parsed[0], str):
            log.warning("Ignoring offset partition key with an unexpected format: %s", java_kind(parsed))
            return
        connector, partition = parsed
        if not isinstance(partition, dict):
            return
        identity = partition_key(partition)
        known = self._partitions.setdefault(connector, {})
        if has_offset:
            known[identity] = partition
        else:
            known.pop(identity, None)
        if not known:
            del self._partitions[connector]

    def of(self, connector: str) -> list[dict[str, object]]:
        """The connector's partitions."""
        return [dict(partition) for partition in self._partitions.get(connector, {}).values()]
