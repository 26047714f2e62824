"""A client that costs little: whole frames over a socket, one request at a time unless its caller sends more."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.brokers import Server
from kafkapy.admin.client import AdminClient
from kafkapy.admin.results import values_of
from kafkapy.admin.topics import NewTopic
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.headers import ResponseHeader, encode_request
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.produce import ProduceRequest
from kafkapy.record.batch_encoder import Columns, encode_columns, finish_batch
from kafkapy.record.compression import CompressionType

MB = 1_000_000
TIMESTAMP = 1_700_000_000_000
_PATIENCE_SECONDS = 120


class FrameClient:
    """A connection to a broker. Its client id is what the broker's log may name."""

    def __init__(self, port: int, client_id: str = "stalls-load", receive_buffer: int | None = None) -> None:
        self.socket = socket.socket()
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(_PATIENCE_SECONDS)
        self.socket.connect(("127.0.0.1", port))
        self.client_id = client_id

    def __enter__(self) -> FrameClient:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.socket.close()

    def frame(self, request: Message, version: int) -> bytes:
        return encode_request(ApiKey(request.API_KEY), version, 1, self.client_id, request)

    def receive(self) -> bytearray:
        """The next answer, without its size."""
        (size,) = struct.unpack(">i", self._exactly(4))
        return self._exactly(size)

    def _exactly(self, size: int) -> bytearray:
        data = bytearray(size)
        view, read = memoryview(data), 0
        while read < size:
            got = self.socket.recv_into(view[read:])
            if not got:
                raise ConnectionError("the broker has closed the connection")
            read += got
        return data

    def call(self, request: Message, version: int) -> Any:
        """The response; errors are in it."""
        self.socket.sendall(self.frame(request, version))
        return self.answer(request, version)

    def answer(self, request: Message, version: int) -> Any:
        """The next answer, which is that to such a request."""
        data, api_key = self.receive(), ApiKey(request.API_KEY)
        _, position = ResponseHeader.decode(data, api_key, version)
        return api_key.response.decode(data, version, position)


def values(count: int, size: int) -> list[bytes]:
    """Half of each is random, half is repeated, as real records are; 1,000 different ones."""
    different = [(os.urandom(size // 4).hex() + "abcdefghij" * (size // 10))[:size].encode() for _ in range(1000)]
    return (different * (count // 1000 + 1))[:count]


def batch(
    records: Sequence[bytes], codec: CompressionType = CompressionType.NONE, keys: Sequence[bytes] | None = None
) -> bytes:
    return finish_batch(encode_columns(Columns(records, keys, None, [(0, TIMESTAMP)]), codec))


def produce_request(topic: str, records: bytes, partition: int = 0, acks: int = 1) -> ProduceRequest:
    data = ProduceRequest.PartitionProduceData(index=partition, records=records)
    topic_data = ProduceRequest.TopicProduceData(name=topic, partition_data=[data])
    return ProduceRequest(acks=acks, timeout_ms=60_000, topic_data=[topic_data])


def check(error_code: int) -> None:
    if error_code:
        raise KafkaError(Errors.for_code(error_code))


def make_topic(server: Server, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
    with AdminClient(server.bootstrap) as admin:
        values_of(admin.create_topics([NewTopic(name, partitions, 1, topic_configs=dict(configs or {}))]))


def delete_topics(server: Server, *names: str) -> None:
    with AdminClient(server.bootstrap) as admin:
        values_of(admin.delete_topics(list(names)))
