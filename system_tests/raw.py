"""Requests as bytes, for those who do not keep to the rules."""

from __future__ import annotations

import socket
import struct
import time
import zlib

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.fetch import FetchRequest
from kafkapy.protocol.messages.produce import ProduceRequest
from kafkapy.record.records_builder import encode_batch
from kafkapy.record.varint import encode_varint
from system_tests.services import HOST


def frame(api_key: ApiKey, version: int, body: bytes, size: int | None = None) -> bytes:
    """A request with header v1; `size` is what its size field claims, if not the truth."""
    header = struct.pack(">hhih", api_key, version, 1, -1)
    return struct.pack(">i", len(header) + len(body) if size is None else size) + header + body


def encode(message: Message, api_key: ApiKey, version: int) -> bytes:
    return frame(api_key, version, b"".join(bytes(part) for part in message.encode_parts(version)))


def fetch_request(topic: str, offset: int, max_wait_ms: int = 100) -> bytes:
    """Fetch v4 of partition 0, of as much as there is."""
    partition = FetchRequest.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=50 << 20)
    request = FetchRequest(
        replica_id=-1,
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=50 << 20,
        topics=[FetchRequest.FetchTopic(topic=topic, partitions=[partition])],
    )
    return encode(request, ApiKey.FETCH, 4)


def produce_request(topic: str, batch: bytes) -> bytes:
    """Produce v7 of one batch to partition 0, with acks=1."""
    partition = ProduceRequest.PartitionProduceData(index=0, records=memoryview(batch))
    request = ProduceRequest(
        acks=1,
        timeout_ms=1000,
        topic_data=[ProduceRequest.TopicProduceData(name=topic, partition_data=[partition])],
    )
    return encode(request, ApiKey.PRODUCE, 7)


def bomb(megabytes: int) -> bytes:
    """A valid gzip batch of one record whose value is all zeros."""
    size = megabytes << 20
    # length, attributes, timestamp delta, offset delta, no key, value length; then the value and no headers
    length = encode_varint(size)
    fields = b"\0\0\0" + encode_varint(-1) + length
    record = encode_varint(len(fields) + size + 1) + fields
    packer = zlib.compressobj(9, wbits=31)
    body = packer.compress(record)
    for _ in range(megabytes):
        body += packer.compress(bytes(1 << 20))
    body += packer.compress(b"\0") + packer.flush()
    now = int(time.time() * 1000)
    return encode_batch(
        body,
        base_offset=0,
        last_offset_delta=0,
        record_count=1,
        attributes=1,
        base_timestamp=now,
        max_timestamp=now,
    )


def ask(port: int, request: bytes, seconds: float = 30) -> bytes | None:
    """Send one request; its response after the size field, None if the broker hangs up instead."""
    with socket.create_connection((HOST, port), timeout=seconds) as connection:
        try:
            connection.sendall(request)
            size = connection.recv(4, socket.MSG_WAITALL)
            return connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL) if len(size) == 4 else None
        except ConnectionError:
            return None


def hang_up_rudely(connection: socket.socket) -> None:
    """RST instead of FIN."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
