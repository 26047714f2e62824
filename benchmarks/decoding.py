"""Decoding alone, beside aiokafka's Cython: from the bytes of a Fetch response to the records that a program gets,
500 at a time.

    python -m benchmarks.decoding [--rounds 5] [--seconds 0.3]

No broker, no sockets. It says whether the environment has numpy: `pip install kafkapy aiokafka` makes a light one without. The
batches are aiokafka's, of 16 KiB before compression, 1 MiB of them; checksums are looked at, deserializers are none.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from kafkapy import compiled
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.fetch.completed_fetch import CompletedFetch
from kafkapy.consumer.records import RecordFactory
from kafkapy.consumer.subscription_state import FetchPosition, TopicPartitionState
from kafkapy.protocol.messages.fetch import FetchResponse

Record = tuple[bytes | None, bytes, list[tuple[str, bytes]]]

BATCH_BYTES = 16_384
RESPONSE_BYTES = 1 << 20
POLL_RECORDS = 500
"""What a poll gives at most, by default."""
CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}


def plain(dice: random.Random, size: int = 100, key: bool = False) -> Record:
    return (b"user-%05d" % dice.randrange(10_000) if key else None), dice.randbytes(size), []


def event(dice: random.Random, headers: int = 0) -> Record:
    value = b'{"id": %d, "action": "%s", "price": %d}' % (
        dice.randrange(1 << 40),
        dice.choice((b"view", b"buy", b"leave")),
        dice.randrange(10_000),
    )
    return b"user-%d" % dice.randrange(10_000), value, [(f"header-{n}", dice.randbytes(8)) for n in range(headers)]


SHAPES: dict[str, tuple[str, Callable[[random.Random], Record], int]] = {
    "100 B": ("none", plain, BATCH_BYTES),
    "100 B with keys": ("none", partial(plain, key=True), BATCH_BYTES),
    "100 B, one a batch": ("none", plain, 1),
    "1 KB": ("none", partial(plain, size=1000), BATCH_BYTES),
    "JSON": ("none", event, BATCH_BYTES),
    "JSON, two headers": ("none", partial(event, headers=2), BATCH_BYTES),
    **{f"JSON, {codec}": (codec, event, BATCH_BYTES) for codec in ("gzip", "snappy", "lz4", "zstd")},
}
"""By name: codec, a record of chance, bytes of a batch before compression."""


def response(codec: str, record: Callable[[random.Random], Record], batch_bytes: int) -> tuple[bytes, int]:
    """The bytes, and how many records they are."""
    new_builder = import_module("aiokafka.record.default_records").DefaultRecordBatchBuilder
    dice, data, count = random.Random(1), bytearray(), 0
    while len(data) < RESPONSE_BYTES:
        builder = new_builder(2, CODECS[codec], 0, -1, -1, -1, batch_bytes)
        number = 0
        while True:
            key, value, headers = record(dice)
            if builder.append(number, 1_700_000_000_000 + number, key, value, headers) is None:
                break
            number += 1
        batch = bytearray(builder.build())
        batch[:8] = count.to_bytes(8)  # the base offset, which no checksum covers
        data += batch
        count += number
    return bytes(data), count


def with_kafkapy(data: bytes) -> Iterator[list[Any]]:
    state = TopicPartitionState()
    state.position = FetchPosition(0)
    fetched = FetchResponse.PartitionData(partition_index=0, records=memoryview(data))
    fetch = CompletedFetch(TopicPartition("t", 0), state, 0, fetched, read_committed=False, check_crcs=True)
    factory = RecordFactory()
    while not fetch.done:
        yield fetch.take(POLL_RECORDS, factory)


def with_aiokafka(data: bytes) -> Iterator[list[Any]]:
    fetcher = import_module("aiokafka.consumer.fetcher")
    records = import_module("aiokafka.record.memory_records").MemoryRecords(data)
    partition = import_module("aiokafka.structs").TopicPartition("t", 0)
    found = fetcher.PartitionRecords(partition, records, [], 0, None, None, True, fetcher.READ_UNCOMMITTED)
    some: list[Any] = []
    for record in found:  # as its FetchResult.getall
        some.append(record)
        if len(some) == POLL_RECORDS:
            yield some
            some = []
    yield some


def rate(decode: Callable[[bytes], Iterator[list[Any]]], data: bytes, count: int, seconds: float) -> float:
    done, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        assert sum(map(len, decode(data))) == count
        done += count
    return done / (time.perf_counter() - begin)


def fields(decoded: Iterator[list[Any]]) -> list[tuple[Any, ...]]:
    return [(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for some in decoded for r in some]


def rows(rounds: int, seconds: float) -> Iterator[tuple[str, float, float]]:
    """Shape, aiokafka's records a second, kafkapy's: medians."""
    for name, (codec, record, batch_bytes) in SHAPES.items():
        data, count = response(codec, record, batch_bytes)
        assert fields(with_kafkapy(data)) == fields(with_aiokafka(data))
        pairs = [[rate(f, data, count, seconds) for f in (with_aiokafka, with_kafkapy)] for _ in range(rounds)]
        yield name, *(statistics.median(column) for column in zip(*pairs, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="of a measurement")
    args = parser.parse_args()
    theirs = import_module("aiokafka.record.default_records").DefaultRecordBatch.__module__
    numpy = "with" if find_spec("numpy") else "without"
    code = "machine code" if compiled.is_used() else "plain Python"
    print(f"kafkapy: {code}, {numpy} numpy. aiokafka: {theirs}\n")
    print("| records | aiokafka, records/s | kafkapy, records/s | ratio |", "| --- | ---: | ---: | ---: |", sep="\n")
    for name, before, ours in rows(args.rounds, args.seconds):
        print(f"| {name} | {before:,.0f} | {ours:,.0f} | {ours / before:.2f} |", flush=True)


if __name__ == "__main__":
    main()
