"""Produce requests that are large, or have to be changed before they are stored."""

from __future__ import annotations

from benchmarks.brokers import Server
from benchmarks.stalls.client import MB, FrameClient, batch, check, delete_topics, make_topic, produce_request, values
from benchmarks.stalls.measure import Scenario
from kafkapy.record.compression import CompressionType

_VERSION = 9


class LargeProduce(Scenario):
    """One request with one batch, some times."""

    topic = "stalls-large"

    def __init__(
        self,
        name: str,
        size: int,
        codec: CompressionType = CompressionType.NONE,
        to: str = "producer",
        record_size: int = 1000,
        times: int = 2,
    ) -> None:
        """`size`: of the records before they are compressed with `codec`; `to`: the topic's compression.type."""
        self.name = name
        self._size = size
        self._codec = codec
        self._to = to
        self._record_size = record_size
        self._times = times
        self._frame = b""

    def prepare(self, server: Server) -> None:
        make_topic(server, self.topic, configs={"compression.type": self._to, "max.message.bytes": "104857600"})
        if not self._frame:
            records = batch(values(self._size // self._record_size, self._record_size), self._codec)
            with FrameClient(server.port) as client:
                self._frame = client.frame(produce_request(self.topic, records), _VERSION)

    def load(self, server: Server) -> None:
        with FrameClient(server.port) as client:
            for _ in range(self._times):
                client.socket.sendall(self._frame)
                response = client.answer(produce_request(self.topic, b""), _VERSION)
                check(response.responses[0].partition_responses[0].error_code)

    def clean(self, server: Server) -> None:
        delete_topics(server, self.topic)


def scenarios() -> list[Scenario]:
    c = CompressionType
    return [
        LargeProduce("produce 61 MB zstd -> gzip", 61 * MB, c.ZSTD, "gzip", times=1),
        LargeProduce("produce 50 MB gzip -> zstd", 50 * MB, c.GZIP, "zstd"),
        LargeProduce("produce 50 MB none -> gzip", 50 * MB, c.NONE, "gzip", times=1),
        LargeProduce("produce 50 MB none -> lz4", 50 * MB, c.NONE, "lz4"),
        LargeProduce("produce 50 MB none -> zstd", 50 * MB, c.NONE, "zstd"),
        LargeProduce("produce 50 MB none -> snappy", 50 * MB, c.NONE, "snappy"),
        LargeProduce("produce 50 MB lz4 -> snappy", 50 * MB, c.LZ4, "snappy"),
        LargeProduce("produce 50 MB gzip stays gzip", 50 * MB, c.GZIP),
        LargeProduce("produce 90 MB uncompressed", 90 * MB),
        LargeProduce("produce 500,000 records of 10 B", 5 * MB, record_size=10, times=5),
        LargeProduce("produce 500,000 records of 10 B, lz4", 5 * MB, c.LZ4, record_size=10, times=5),
        LargeProduce("produce 500,000 records of 10 B -> lz4", 5 * MB, c.NONE, "lz4", record_size=10, times=5),
    ]
