"""Compaction beside Apache Kafka 3.9.1: MB/s of a cleaner, and how long small requests wait meanwhile.

    python -m benchmarks.compaction [--mb 1460] [--only REGEX] [--rounds 1] [--before CHECKOUT] [--markdown FILE]

A kafkapy broker is given a topic for each case. Then every broker, with one cleaner thread, starts on a copy of that data dir,
and its topics become cleanable one after the other, first one to warm up with. The time of a cleaning ends when the
checkpoint has it; it begins when the config is changed, so it has up to `BACKOFF_MS` too many. Pings are ApiVersions, 5 ms apart.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import re
import shutil
import socket
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from benchmarks.brokers import ApacheServer, KafkapyServer, Server, start_zookeeper
from benchmarks.table import number
from kafkapy import KafkaProducer
from kafkapy.admin.client import AdminClient
from kafkapy.admin.configs import ConfigChange
from kafkapy.admin.results import values_of
from kafkapy.admin.topics import NewTopic
from kafkapy.admin.types import ConfigResource
from kafkapy.clients.client_options import CompressionName
from kafkapy.common.free_ports import free_ports
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import UnknownTopicOrPartitionError
from kafkapy.log.files.checkpoints import CLEANER_OFFSET_CHECKPOINT, OffsetCheckpointFile

BACKOFF_MS = 50
SETTINGS = {
    "log.cleaner.threads": 1,
    "log.cleaner.backoff.ms": BACKOFF_MS,
    "offsets.topic.num.partitions": 1,
    "log.segment.delete.delay.ms": 1000,
}
NEVER, AT_ONCE = "1.0", "0.01"
"""Values of min.cleanable.dirty.ratio: a log is cleaned if more than this part of it is dirty."""
PING = bytes.fromhex("0000000a 0012 0000 00000000 ffff")
PAUSE_SECONDS = 0.005


class Case(NamedTuple):
    value_size: int
    distinct: float
    """Keys by records."""
    codec: CompressionName

    @property
    def name(self) -> str:
        return f"{self.value_size} B, {100 * self.distinct:.0f} % distinct keys, {self.codec}"

    @property
    def topic(self) -> str:
        return re.sub("[^a-z0-9]+", "-", self.name)


WARM_UP = Case(100, 0.2, "none")
CASES = [Case(size, distinct, "none") for size in (1000, 100) for distinct in (0.1, 0.5)]
_CODECS: tuple[CompressionName, ...] = ("lz4", "zstd")
CASES += [Case(1000, distinct, codec) for codec in _CODECS for distinct in (0.1, 0.5)]


@dataclass
class Figures:
    """Of one cleaning."""

    mb_per_second: float
    cpu_seconds: float
    reduced_to: float
    """Bytes that are left of those that were there."""
    pings: list[float] = field(default_factory=list)

    @property
    def p99_ms(self) -> float:
        return 1000 * sorted(self.pings)[int(len(self.pings) * 0.99)]

    @property
    def longest_ms(self) -> float:
        return 1000 * max(self.pings)


def fill(server: Server, case: Case, megabytes: int) -> None:
    """A topic of so many MB (10^6) of keys and values, with random keys."""
    configs = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": NEVER, "segment.bytes": 100 << 20}
    with AdminClient(server.bootstrap) as admin:
        values_of(admin.create_topics([NewTopic(case.topic, 1, 1, topic_configs=configs)]))
    chance = random.Random(1)
    text = b"".join(chance.randbytes(8).hex().encode() + b" " * chance.randrange(24) for _ in range(1 << 16))
    count = megabytes * 1_000_000 // (case.value_size + 16)
    keys = max(1, int(count * case.distinct))
    with KafkaProducer(
        bootstrap_servers=server.bootstrap, linger_ms=5, max_request_size=1 << 20, compression_type=case.codec
    ) as producer:
        for first in range(0, count, 10_000):
            places = [chance.randrange(len(text) - case.value_size) for _ in range(min(10_000, count - first))]
            producer.send_many(
                case.topic,
                [text[place : place + case.value_size] for place in places],
                [b"key-%012d" % chance.randrange(keys) for _ in places],
            )
        producer.flush()


def clean(server: Server, case: Case) -> Figures:
    """Let the broker clean a topic, and ping it until that is done."""
    data = server.directory / "data"
    log = data / f"{case.topic}-0"
    segments = sorted(log.glob("*.log"))[:-1]
    size = sum(segment.stat().st_size for segment in segments)
    checkpoint = OffsetCheckpointFile(str(data / CLEANER_OFFSET_CHECKPOINT))
    partition = TopicPartition(case.topic, 0)
    with AdminClient(server.bootstrap) as admin, socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        cpu, begin, pings = server.cpu_seconds(), time.monotonic(), []
        set_ratio(admin, case.topic, AT_ONCE)
        while partition not in checkpoint.read():
            pings.append(ping(connection))
            time.sleep(PAUSE_SECONDS)
        seconds = time.monotonic() - begin
        set_ratio(admin, case.topic, NEVER)  # the next broker finds it in ZooKeeper
    time.sleep(1.5)  # until the old segments are gone, their names too
    left = sum(segment.stat().st_size for segment in sorted(log.glob("*.log"))[:-1])
    return Figures(size / seconds / 1e6, server.cpu_seconds() - cpu, left / size, pings)


def set_ratio(admin: AdminClient, topic: str, ratio: str) -> None:
    """Say when a topic is cleaned, as soon as the broker knows it."""
    changes = {ConfigResource("TOPIC", topic): [ConfigChange("min.cleanable.dirty.ratio", ratio)]}
    while True:
        try:
            values_of(admin.incremental_alter_configs(changes))
            return
        except UnknownTopicOrPartitionError:
            time.sleep(0.1)


def ping(connection: socket.socket) -> float:
    """Seconds until a small request is answered."""
    begin = time.perf_counter()
    connection.sendall(PING)
    rest = 4
    answer = connection.recv(rest, socket.MSG_WAITALL)
    connection.recv(int.from_bytes(answer, "big"), socket.MSG_WAITALL)
    return time.perf_counter() - begin


def measure(server: Server, source: Path, cases: list[Case]) -> list[Figures]:
    """The figures of a broker that has just been started on a copy of the data."""
    shutil.rmtree(server.directory / "data", ignore_errors=True)
    shutil.copytree(source, server.directory / "data")
    os.sync()
    server.start()
    try:
        clean(server, WARM_UP)
        return [clean(server, case) for case in cases]
    finally:
        server.stop()


def report(figures: dict[str, list[list[Figures]]], cases: list[Case]) -> str:
    """A table in Markdown: of each case and broker the medians of all rounds, of pings the longest."""
    lines = [
        "| case | broker | MB/s | CPU s | longest ping, ms | p99, ms | size after |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for index, case in enumerate(cases):
        for name, rounds in figures.items():
            of_case = [figures_of_round[index] for figures_of_round in rounds]
            row = [
                statistics.median(f.mb_per_second for f in of_case),
                statistics.median(f.cpu_seconds for f in of_case),
            ]
            row += [max(f.longest_ms for f in of_case), statistics.median(f.p99_ms for f in of_case)]
            lines.append(f"| {case.name} | {name} | {' | '.join(map(number, row))} | {of_case[0].reduced_to:.1%} |")
    for name, rounds in figures.items():
        mean = math.exp(statistics.mean(math.log(f.mb_per_second) for round_ in rounds for f in round_))
        lines.append(f"| geometric mean | {name} | {number(mean)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=int, default=1460)
    parser.add_argument("--only", default="", metavar="REGEX", help="cases")
    parser.add_argument("--brokers", default="", metavar="REGEX")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="measure that kafkapy, too")
    parser.add_argument("--markdown", type=Path)
    args = parser.parse_args()
    cases = [case for case in CASES if re.search(args.only, case.name)]
    directory = Path(tempfile.mkdtemp(prefix="kafkapy-compaction-"))
    (port,) = free_ports(1)
    zookeeper = start_zookeeper(directory, port)
    try:
        settings = {**SETTINGS, "log.cleaner.enable": "false"}
        source = KafkapyServer("source", directory / "source", zookeeper_port=port, properties=settings)
        source.start()
        for case in [WARM_UP, *cases]:
            fill(source, case, 100 if case is WARM_UP else args.mb)
        source.stop()
        servers: list[Server] = [
            KafkapyServer("kafkapy", directory / "kafkapy", zookeeper_port=port, properties=SETTINGS)
        ]
        servers.append(ApacheServer("Apache 3.9.1", directory / "apache", zookeeper_port=port, properties=SETTINGS))
        if args.before is not None:
            servers.append(
                KafkapyServer(
                    "before", directory / "before", zookeeper_port=port, properties=SETTINGS, checkout=args.before
                )
            )
        figures: dict[str, list[list[Figures]]] = {}
        for _ in range(args.rounds):
            for server in [server for server in servers if re.search(args.brokers, server.name)]:
                figures.setdefault(server.name, []).append(measure(server, directory / "source" / "data", cases))
                shutil.rmtree(server.directory / "data")
        table = report(figures, cases)
        print(table)
        if args.markdown:
            args.markdown.write_text(table + "\n")
    finally:
        zookeeper.kill()
        zookeeper.wait()
        shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
