"""The Spark connector beside Spark's own, in one session and against one broker: A B A B, medians, ratios.

    python -m benchmarks.spark [--server apache|kafkapy] [--rounds 3] [--warm-up 3] [--only REGEX] [--scale 1.0]
        [--batch-size BYTES] [--markdown FILE]

Reads: count, sum of the values' lengths, and writing to Parquet, of 2 million records of 100 bytes and of 1 million JSON
records in snappy. The sink, acks=1: 500,000 records of 100 bytes, 2 million of them, 250,000 of 1 KB, and 500,000 with keys and
chosen partitions. Fixed costs of a job are 0.1 s and more: small cases are mostly these. Spark runs on two threads of this
machine. Each case is warmed up by rounds that do not count: Spark's JVM gets faster from round to round, in the sink's case up
to the tenth. What the sinks write is deleted at once after each round, so that the page cache of the next one lies in memory that
was used before: a virtual machine may have to ask its host for other memory, and that can take longer than all else.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import apache
from benchmarks.brokers import ApacheServer, KafkapyServer, Server
from kafkapy.admin.client import AdminClient
from kafkapy.admin.results import values_of
from kafkapy.admin.topics import NewTopic

PARTITIONS = 4
JAVAS_BATCH = 16_384
"""Bytes: what Java's producer makes by default."""
SINKS = (
    ("100 B", 500_000, 100, False),
    ("many of 100 B", 2_000_000, 100, False),
    ("1 KB", 250_000, 1000, False),
    ("100 B, key and partition", 500_000, 100, True),
)
"""What is written: a name, records, bytes of a value, and whether there are keys and partitions."""
BROKER = {"log.segment.delete.delay.ms": 0}
DELETED_WITHIN_SECONDS = 30
"""Apache's broker looks for logs to delete every so often."""
NAMES = {"kafka": "Spark's connector", "kafkapy": "kafkapy.spark"}


@dataclass
class Case:
    """One figure: rows and a function (format, round) that moves them and says in how many seconds."""

    name: str
    rows: int
    run: Callable[[str, int], float]
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def rate(self, name: str) -> float:
        return self.rows / statistics.median(self.seconds[name])


def connector_jars() -> list[str]:
    """Spark's own connector out of Maven Central; fetched on first use."""
    pom = Path(__file__).parent / "spark-pom.xml"
    target = apache.CACHE / f"spark-{hashlib.sha256(pom.read_bytes()).hexdigest()[:12]}"
    if not (target / ".complete").exists():
        shutil.rmtree(target, ignore_errors=True)
        plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
        subprocess.run(["mvn", "-q", "-B", "-f", str(pom), f"-DoutputDirectory={target}", plugin], check=True)
        (target / ".complete").touch()
    return sorted(map(str, target.glob("*.jar")))


def session(directory: Path) -> Any:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    from kafkapy.spark import KafkaDataSource

    builder = SparkSession.builder.master("local[2]").appName("benchmarks.spark")
    for name, value in {
        "spark.jars": ",".join(connector_jars()),
        "spark.ui.enabled": "false",
        "spark.local.dir": str(directory / "spark"),
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.driver.memory": "1g",
        "spark.log.level": "ERROR",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.dataSource.register(KafkaDataSource)
    return spark


# --- data


def plain_values(records: int, size: int = 100) -> Iterator[bytes]:
    noise = random.Random(1).randbytes(1 << 20)
    for i in range(records):
        at = i * 97 % (len(noise) - size)
        yield noise[at : at + size]


def json_values(records: int) -> Iterator[str]:
    dice = random.Random(2)
    for i in range(records):
        event = {"id": i, "user": f"user-{dice.randrange(10_000)}", "action": dice.choice(("view", "buy", "leave"))}
        yield json.dumps({**event, "price": dice.randrange(10_000) / 100, "time": 1_700_000_000_000 + i})


def fill(server: Server, topic: str, *arguments: str, codec: str, batch_size: int) -> None:
    """By Java's producer: batches of `batch_size` bytes (before compression), sticky partitions."""
    with AdminClient(server.bootstrap) as admin:
        values_of(admin.create_topics([NewTopic(topic, PARTITIONS, 1)]))
    apache.run_java(
        "org.apache.kafka.tools.ProducerPerformance",
        *("--topic", topic, "--throughput", "-1", *arguments),
        *("--producer-props", f"bootstrap.servers={server.bootstrap}", f"compression.type={codec}"),
        *((f"batch.size={batch_size}", "linger.ms=100") if batch_size != JAVAS_BATCH else ()),
    )


def fill_plain(server: Server, records: int, batch_size: int) -> None:
    size = "--record-size", "100"
    fill(server, "plain", "--num-records", str(records), *size, codec="none", batch_size=batch_size)


def fill_events(server: Server, directory: Path, records: int, batch_size: int) -> None:
    payloads = directory / "events.json"
    payloads.write_text("".join(line + "\n" for line in json_values(records)))
    source = "--payload-file", str(payloads)
    fill(server, "events", "--num-records", str(records), *source, codec="snappy", batch_size=batch_size)


# --- cases


def cases(spark: Any, server: Server, directory: Path, scale: float) -> list[Case]:
    from pyspark.sql.functions import length
    from pyspark.sql.functions import sum as total

    plain, events = (int(n * scale) for n in (2_000_000, 1_000_000))
    found = []
    for label, topic, rows in (("100 B", "plain", plain), ("JSON, snappy", "events", events)):

        def read(name: str, topic: str = topic) -> Any:
            reader = spark.read.format(name).option("kafka.bootstrap.servers", server.bootstrap)
            return reader.option("subscribe", topic).load()

        def count(name: str, _: int, read: Any = read, rows: int = rows) -> float:
            begin = time.monotonic()
            assert read(name).count() == rows
            return time.monotonic() - begin

        def lengths(name: str, _: int, read: Any = read) -> float:
            begin = time.monotonic()
            assert read(name).select(total(length("value"))).collect()[0][0] > 0
            return time.monotonic() - begin

        def parquet(name: str, _: int, read: Any = read, topic: str = topic) -> float:
            begin = time.monotonic()
            read(name).write.mode("overwrite").parquet(str(directory / f"{topic}-{name}.parquet"))
            return time.monotonic() - begin

        found += [
            Case(f"{label}: count", rows, count),
            Case(f"{label}: sum of lengths", rows, lengths),
            Case(f"{label}: to Parquet", rows, parquet),
        ]

    return found + [
        sink_case(spark, server, directory, label, int(rows * scale), size, keyed) for label, rows, size, keyed in SINKS
    ]


def delete_topic(server: Server, topic: str) -> None:
    """And wait until its files are gone."""
    with AdminClient(server.bootstrap) as admin:
        values_of(admin.delete_topics([topic]))
    deadline = time.monotonic() + DELETED_WITHIN_SECONDS
    while any((server.directory / "data").glob(f"{topic}-*")) and time.monotonic() < deadline:
        time.sleep(0.02)


def sink_case(spark: Any, server: Server, directory: Path, label: str, rows: int, size: int, keyed: bool) -> Case:
    source = directory / f"sink-{label}.parquet"

    def sink(name: str, round_: int) -> float:
        if not source.exists():
            make_sink_source(source, rows, size, keyed)
        # Of this case alone: Java's producer, which Spark keeps, asks for its old topics now and then, and that makes them anew.
        topic = re.sub(r"[\W_]+", "-", f"sink-{label}-{name}-{round_}")
        with AdminClient(server.bootstrap) as admin:
            values_of(admin.create_topics([NewTopic(topic, PARTITIONS, 1)]))
        begin = time.monotonic()
        writer = spark.read.parquet(str(source)).write.format(name).option("kafka.bootstrap.servers", server.bootstrap)
        writer.option("topic", topic).option("kafka.acks", "1").mode("append").save()
        seconds = time.monotonic() - begin
        delete_topic(server, topic)
        return seconds

    return Case(f"sink, acks=1: {label}", rows, sink)


def make_sink_source(source: Path, rows: int, size: int = 100, keyed: bool = False) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    table = pa.table({"value": pa.array(list(plain_values(rows, size)), pa.binary())})
    if keyed:
        keys = [b"user-%05d" % (i * 7919 % 10_000) for i in range(rows)]
        table = table.append_column("key", pa.array(keys, pa.binary()))
        table = table.append_column("partition", pa.array([i % PARTITIONS for i in range(rows)], pa.int32()))
    source.mkdir()
    for part in range(PARTITIONS):
        share = rows // PARTITIONS
        pyarrow.parquet.write_table(table.slice(part * share, share), source / f"{part}.parquet")


def report(measured: list[Case]) -> str:
    lines = [
        "| case | Spark's connector, records/s | kafkapy.spark, records/s | ratio |",
        "| --- | ---: | ---: | ---: |",
    ]
    for case in measured:
        theirs, ours = case.rate("kafka"), case.rate("kafkapy")
        lines.append(f"| {case.name} | {theirs:,.0f} | {ours:,.0f} | {ours / theirs:.2f} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", choices=("apache", "kafkapy"), default="kafkapy")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--warm-up", type=int, default=3, help="rounds before that do not count")
    parser.add_argument("--only", default="", help="regular expression on the names of the cases")
    parser.add_argument("--scale", type=float, default=1.0, help="number of records against the default")
    parser.add_argument("--batch-size", type=int, default=JAVAS_BATCH, help="bytes of the batches that are read")
    parser.add_argument("--markdown", type=Path, help="write the table to this file as well")
    args = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="kafkapy-bench-"))
    server: Server | None = None
    try:
        server = (ApacheServer if args.server == "apache" else KafkapyServer)(
            args.server, directory / args.server, properties=BROKER
        )
        server.start()
        spark = session(directory)
        chosen = [c for c in cases(spark, server, directory, args.scale) if re.search(args.only, c.name)]
        read = " ".join(case.name for case in chosen if not case.name.startswith("sink"))
        if "100 B" in read:
            fill_plain(server, int(2_000_000 * args.scale), args.batch_size)
        if "JSON" in read:
            fill_events(server, directory, int(1_000_000 * args.scale), args.batch_size)
        for case in chosen:
            for round_ in range(-args.warm_up, 0):
                for name in NAMES:
                    case.run(name, round_)
            for round_ in range(args.rounds):
                for name in NAMES:
                    case.seconds.setdefault(name, []).append(case.run(name, round_))
            shown = "  ".join(f"{NAMES[n]} {case.rate(n):,.0f}" for n in NAMES)
            ratio = case.rate("kafkapy") / case.rate("kafka")
            print(f"{case.name:30} {shown} records/s  ratio {ratio:.2f}", file=sys.stderr, flush=True)
        table = report(chosen)
        print(table)
        if args.markdown:
            args.markdown.write_text(table + "\n")
        spark.stop()
    finally:
        if server is not None:
            server.close()
        shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
