"""Builds Produce requests from batches, in the message format of the broker's version."""

from __future__ import annotations

from collections.abc import Sequence

from kafkapy.errors import UnsupportedVersionError
from kafkapy.producer.batch import ProducerBatch
from kafkapy.protocol.messages.produce import ProduceRequest
from kafkapy.record.compression import CompressionType

_FORMAT_V2 = 3
"""The first version of Produce with record batches (message format v2)."""
_ZSTD = 7


class ProduceRequestBuilder:
    """A request with one batch for each partition. `build` may be called more than once."""

    API_KEY = ProduceRequest.API_KEY

    def __init__(
        self,
        batches: Sequence[ProducerBatch],
        acks: int,
        timeout_ms: int,
        codec: CompressionType,
        transactional_id: str | None = None,
    ) -> None:
        self.batches = batches
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.codec = codec
        self.transactional_id = transactional_id

    @property
    def min_version(self) -> int:
        """Return the lowest version that supports the codec and the producer's sequences."""
        if self.codec is CompressionType.ZSTD:
            return _ZSTD
        needs_format_v2 = any(batch.has_sequence or batch.headers is not None for batch in self.batches)
        return _FORMAT_V2 if needs_format_v2 else 0

    def build(self, version: int) -> ProduceRequest:
        """Build the request. Raises UnsupportedVersionError if the broker is too old for the contents of the
        batches."""
        if version < self.min_version:
            raise UnsupportedVersionError(f"Produce version {version} cannot carry these records")
        magic = 2 if version >= _FORMAT_V2 else 1 if version == 2 else 0
        topics: dict[str, list[ProduceRequest.PartitionProduceData]] = {}
        for batch in self.batches:
            topic, partition = batch.topic_partition
            records = memoryview(batch.records(magic, self.codec, None))
            data = ProduceRequest.PartitionProduceData(index=partition, records=records)
            topics.setdefault(topic, []).append(data)
        return ProduceRequest(
            transactional_id=self.transactional_id if version >= _FORMAT_V2 else None,
            acks=self.acks,
            timeout_ms=self.timeout_ms,
            topic_data=[
                ProduceRequest.TopicProduceData(name=name, partition_data=data) for name, data in topics.items()
            ],
        )
