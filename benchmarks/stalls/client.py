"""A client that costs little: whole frames over a socket, one request at a time unless its caller sends more."""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from benchmarks.brokers import Server
from kafkapy.admin.client import AdminClient
from kafkapy.admin.results import values_of
from kafkapy.admin.topics import NewTopic
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.headers import ResponseHeader, encode_request
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.fetch import FetchRequest
from kafkapy.protocol.messages.list_offsets import ListOffsetsRequest
from kafkapy.protocol.messages.metadata import MetadataRequest
from kafkapy.protocol.messages.produce import ProduceRequest
from kafkapy.record.batch_encoder import Columns, encode_columns, finish_batch
from kafkapy.record.compression import CompressionType

MB = 1_000_000
TIMESTAMP = 1_700_000_000_000
_PATIENCE_SECONDS = 300


class FrameClient:
    """A connection to a broker. Its client id is what the broker's log may name."""

    def __init__(self, port: int, client_id: str = "stalls-load", receive_buffer: int | None = None) -> None:
        self.socket = socket.socket()
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(_PATIENCE_SECONDS)
        self.socket.connect(("127.0.0.1", port))
        self.client_id = client_id

    def __enter__(self) -> Self:
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

    def ask(self, request: Message, version: int) -> bytearray:
        """The same, not decoded."""
        self.socket.sendall(self.frame(request, version))
        return self.receive()

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


def fetch_request(topic: str, offset: int, max_bytes: int, partitions: Iterable[int] = (0,)) -> FetchRequest:
    """Of the same offset in all of the partitions, without a session."""
    wanted = [
        FetchRequest.FetchPartition(partition=p, fetch_offset=offset, partition_max_bytes=max_bytes) for p in partitions
    ]
    return FetchRequest(
        max_wait_ms=100,
        min_bytes=1,
        max_bytes=max_bytes,
        session_id=0,
        isolation_level=0,
        topics=[FetchRequest.FetchTopic(topic=topic, partitions=wanted)],
        forgotten_topics_data=[],
        rack_id="",
    )


def list_offsets_request(topic: str, partitions: Iterable[int], timestamp: int) -> ListOffsetsRequest:
    wanted = [ListOffsetsRequest.ListOffsetsPartition(partition_index=p, timestamp=timestamp) for p in partitions]
    topics = [ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=wanted)]
    return ListOffsetsRequest(replica_id=-1, isolation_level=0, topics=topics)


def metadata_request(topics: Iterable[str] | None) -> MetadataRequest:
    """None: of all topics."""
    wanted = None if topics is None else [MetadataRequest.MetadataRequestTopic(name=topic) for topic in topics]
    return MetadataRequest(topics=wanted, allow_auto_topic_creation=False)


def check(error_code: int) -> None:
    if error_code:
        raise KafkaError(Errors.for_code(error_code))


def make_topic(
    server: Server, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None, exists: bool = False
) -> None:
    """`exists`: it may be there already; otherwise one of that name that is still being deleted is waited for."""
    with AdminClient(server.bootstrap) as admin:
        while True:
            outcome = admin.create_topics([NewTopic(name, partitions, 1, topic_configs=dict(configs or {}))])[name]
            if not isinstance(outcome, KafkaError) or (exists and outcome.error is Errors.TOPIC_ALREADY_EXISTS):
                return
            if outcome.error is not Errors.TOPIC_ALREADY_EXISTS:
                raise outcome
            time.sleep(0.1)


def delete_topics(server: Server, *names: str) -> None:
    with AdminClient(server.bootstrap) as admin:
        values_of(admin.delete_topics(list(names)))
