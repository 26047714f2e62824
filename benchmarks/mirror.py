"""MirrorMaker between two brokers of this machine: kafkapy's, or Apache's in Java.

    python -m benchmarks.mirror [--maker python|java] [--rate 5000] [--seconds 20] [--backlog 200000]

Two parts. A backlog is in the source topic before the process starts: time from its start until the first and the last
copied record, and its CPU time for each record. Then a producer sends records at a constant rate: latency from `send` to
the append at the target, CPU for each record, and memory. Other work on the machine changes all figures but the CPU.
"""

from __future__ import annotations

import argparse
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from benchmarks.apache import HERE, jars, java
from benchmarks.rest import cpu_seconds
from kafkapy import KafkaConsumer, KafkaProducer, TopicPartition
from kafkapy.testing import KafkaCluster

TOPIC: Final = "load"
PARTITIONS: Final = 4
SIZE: Final = 200
_OWN_TOPICS: Final = (
    *("checkpoints.topic", "heartbeats.topic", "offset-syncs.topic"),
    *("offset.storage", "status.storage", "config.storage"),
)
_CHUNK: Final = 500


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--maker", choices=("python", "java"), default="python")
    options.add_argument("--rate", type=int, default=5_000, help="records per second (default: 5000)")
    options.add_argument("--seconds", type=float, default=20, help="how long they are sent (default: 20)")
    options.add_argument("--backlog", type=int, default=200_000, help="records before the start (default: 200000)")
    asked = options.parse_args()
    with KafkaCluster(topics={TOPIC: PARTITIONS}) as source, KafkaCluster() as target:
        target.create_topic(f"A.{TOPIC}", PARTITIONS, {"message.timestamp.type": "LogAppendTime"})
        fill(source, asked.backlog)
        started = time.time()
        with mirror_maker(asked.maker, source, target) as process:
            wait_for(target, 1)
            start = cpu_seconds(process.pid)
            wait_for(target, asked.backlog)
            cpu = cpu_seconds(process.pid) - start
            appended = [at for _, at in read(target, 0)]
            first, last = min(appended) / 1000, max(appended) / 1000
            print(f"first record after {first - started:.1f} s, {start:.1f} s of CPU")
            rate, cost = asked.backlog / (last - first), cpu / asked.backlog * 1e6
            print(f"backlog: {rate:,.0f} records/s, {cost:.1f} us of CPU for each")
            before = cpu_seconds(process.pid)
            sent = send_at_rate(source, asked.rate, asked.seconds)
            wait_for(target, asked.backlog + sent)
            cpu = cpu_seconds(process.pid) - before
            memory = resident_bytes(process.pid)
        latencies = sorted(at - created for created, at in read(target, asked.backlog) if created)
        p50, p99 = (latencies[int(len(latencies) * share)] for share in (0.5, 0.99))
        print(f"at {sent / asked.seconds:,.0f} records/s: p50 {p50:.0f} ms, p99 {p99:.0f} ms, ", end="")
        print(f"{cpu / sent * 1e6:.1f} us of CPU for each, {memory / 1e6:.0f} MB")


def value(created_ns: int) -> bytes:
    """A record's value, which begins with the time of its creation."""
    return struct.pack(">Q", created_ns) + bytes(SIZE - 8)


def fill(cluster: KafkaCluster, count: int) -> None:
    with KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, linger_ms=5) as producer:
        for number in range(0, count, _CHUNK):
            rows = min(_CHUNK, count - number)
            producer.send_many(TOPIC, [value(0)] * rows, partition=number // _CHUNK % PARTITIONS)
        producer.flush()


def send_at_rate(cluster: KafkaCluster, rate: int, seconds: float) -> int:
    """Send records for some seconds; return how many."""
    sent, begin = 0, time.monotonic()
    with KafkaProducer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        while (now := time.monotonic() - begin) < seconds:
            due = int(now * rate) - sent
            if due:
                producer.send_many(TOPIC, [value(time.time_ns())] * due, partition=sent % PARTITIONS)
                sent += due
            time.sleep(0.005)
        producer.flush()
    return sent


def wait_for(cluster: KafkaCluster, count: int) -> None:
    """Wait until so many records were copied."""
    partitions = [TopicPartition(f"A.{TOPIC}", number) for number in range(PARTITIONS)]
    with KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers) as consumer:
        while sum(consumer.end_offsets(partitions).values()) < count:
            time.sleep(0.05)


def read(cluster: KafkaCluster, skip: int) -> Iterator[tuple[float, int]]:
    """Return times of creation and of the append at the target, in ms, of all records but the first `skip`."""
    options: dict[str, Any] = {"bootstrap_servers": cluster.bootstrap_servers, "auto_offset_reset": "earliest"}
    partitions = [TopicPartition(f"A.{TOPIC}", number) for number in range(PARTITIONS)]
    with KafkaConsumer(**options) as consumer:
        consumer.assign(partitions)
        left = sum(consumer.end_offsets(partitions).values())
        consumer.seek_to_beginning(*partitions)
        while left > 0:
            for records in consumer.poll(timeout_ms=1000).values():
                left -= len(records)
                for record in records:
                    created = struct.unpack(">Q", record.value[:8])[0] / 1e6
                    if created or not skip:
                        yield created, record.timestamp


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def mirror_maker(maker: str, source: KafkaCluster, target: KafkaCluster) -> Iterator[subprocess.Popen[bytes]]:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "mirror.properties"
        lines = [
            "clusters = A, B",
            f"A.bootstrap.servers = {source.bootstrap_servers}",
            f"B.bootstrap.servers = {target.bootstrap_servers}",
            "A->B.enabled = true",
            f"A->B.topics = {TOPIC}",
            "B->A.emit.heartbeats.enabled = false",
            "replication.factor = 1",
            "tasks.max = 2",
            "sync.topic.acls.enabled = false",
            *(f"{name}.replication.factor = 1" for name in _OWN_TOPICS),
        ]
        file.write_text("".join(f"{line}\n" for line in lines))
        command = [sys.executable, "-m", "kafkapy.tools.connect_mirror_maker", str(file)]
        if maker == "java":
            log4j = f"-Dlog4j.configuration=file:{HERE}/log4j.properties"
            command = [
                java(),
                "-Xms256M",
                "-Xmx2G",
                "-XX:+UseG1GC",
                log4j,
                "-cp",
                os.environ.get("KAFKA_JARS") or jars(),
            ]
            command += ["org.apache.kafka.connect.mirror.MirrorMaker", str(file)]
        with open(Path(directory) / "out", "wb") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(60)


if __name__ == "__main__":
    main()
