"""The warehouse beside the same job of Spark's own: topic to rows that can be queried, and the rollup of an hour.

    python -m benchmarks.warehouse [--parts ingest,rollup,freshness] [--events 2000000] [--rollup-events 5000000]

The topic: Avro of eight fields, ids and four more headers, 5 % of the events twice, four partitions. The JVM's job: Spark's
Kafka connector, `from_avro` of spark-avro, the id out of the headers, day and hour, Parquet by a streaming file sink. The
rollup's: read what lies in current, `dropDuplicates` by id, Parquet. Both have the same session's memory and two threads, one
after the other.

Freshness: events come at a steady rate with the time at which they are sent, and batches at `--trigger` seconds; for each event
the time from there until its rows could be queried. The first batch, which warms the session up, does not count, and neither does
the second: its events came meanwhile.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from io import BytesIO
from pathlib import Path
from typing import Any

import psutil

from benchmarks import apache
from benchmarks.brokers import KafkapyServer
from kafkapy.admin.client import AdminClient
from kafkapy.admin.results import values_of
from kafkapy.admin.topics import NewTopic

PARTITIONS = 4
HOUR_MS = 1_795_478_400_000
"""When the events' hour begins."""
SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "Booking",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "user_id", "type": "long"},
            {"name": "listing", "type": "string"},
            {"name": "city", "type": "string"},
            {"name": "nights", "type": "int"},
            {"name": "price", "type": "double"},
            {"name": "coupon", "type": ["null", "string"], "default": None},
            {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["BOOKED", "CHANGED", "CANCELLED"]}},
        ],
    }
)


def jars() -> list[str]:
    """Spark's own connector and Avro out of Maven Central; fetched on first use."""
    pom = Path(__file__).parent / "warehouse-pom.xml"
    target = apache.CACHE / f"warehouse-{hashlib.sha256(pom.read_bytes()).hexdigest()[:12]}"
    if not (target / ".complete").exists():
        shutil.rmtree(target, ignore_errors=True)
        plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
        subprocess.run(["mvn", "-q", "-B", "-f", str(pom), f"-DoutputDirectory={target}", plugin], check=True)
        (target / ".complete").touch()
    return sorted(map(str, target.glob("*.jar")))


def values(count: int) -> list[bytes]:
    import fastavro

    dice = random.Random(1)
    schema = fastavro.parse_schema(json.loads(SCHEMA))
    found = []
    for number in range(count):
        out = BytesIO()
        event = {
            "id": number,
            "user_id": dice.randrange(1 << 40),
            "listing": f"listing-{dice.randrange(1_000_000)}",
            "city": dice.choice(("Lisbon", "Kyoto", "Montréal", "Ushuaia")),
            "nights": dice.randrange(1, 30),
            "price": dice.randrange(100_000) / 100,
            "coupon": None if dice.random() < 0.8 else "SPRING",
            "kind": dice.choice(("BOOKED", "CHANGED", "CANCELLED")),
        }
        fastavro.schemaless_writer(out, schema, event)
        found.append(out.getvalue())
    return found


def fill(bootstrap: str, topic: str, events: int) -> None:
    """The times of events rise through their hour."""
    import numpy as np
    import pyarrow as pa

    from kafkapy.producer.kafka_producer import KafkaProducer

    with AdminClient(bootstrap) as admin:
        values_of(admin.create_topics([NewTopic(topic, PARTITIONS, 1)]))
    pool = pa.array(values(20_000), pa.binary())
    names = pa.array(["event-id", "event-type", "event-version", "producer-id", "producer-seq"])
    dice = np.random.default_rng(1)
    with KafkaProducer(bootstrap_servers=bootstrap, linger_ms=50, batch_size=65_536) as producer:
        for first in range(0, events, 20_000):
            rows = min(20_000, events - first)
            numbers = np.arange(first, first + rows)
            again = dice.random(rows) < 0.05
            numbers[again] = np.maximum(numbers[again] - 1000, 0)
            header = pa.StructArray.from_arrays(
                [names.take(pa.array(np.tile(np.arange(5), rows))), header_values(numbers)], ["key", "value"]
            )
            headers = pa.ListArray.from_arrays(pa.array(np.arange(0, 5 * rows + 1, 5), pa.int32()), header)
            times = HOUR_MS + numbers * 3_600_000 // max(events, 1)
            table = {
                "value": pool.take(pa.array(numbers % len(pool))),
                "timestamp": pa.array(times),
                "headers": headers,
            }
            producer.send_arrow(topic, pa.table(table))
        producer.flush()


def header_values(numbers: Any) -> Any:
    """Of each event five: its id, which is its number as a UUID, type and version, who has sent it and as which."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    count = len(numbers)
    digits = pa.array(numbers).cast(pa.string())
    ids = pc.binary_join_element_wise("00000000-0000-4000-8000", pc.utf8_lpad(digits, 12, "0"), "-")
    same = [pa.repeat(pa.scalar(text), count) for text in ("Booking", "1.0.0", "bench-1")]
    columns = pa.concat_arrays([ids, *same, digits])
    return columns.take(pa.array(np.arange(5 * count).reshape(5, count).T.ravel())).cast(pa.binary())


class Bench:
    def __init__(self, directory: Path, bootstrap: str, batch: int) -> None:
        self.directory = directory
        self._bootstrap = bootstrap
        self._batch = batch
        (directory / "schema.avsc").write_text(SCHEMA)
        from kafkapy.warehouse.session import session

        self.spark = session(self._config("none", "session"))

    def _config(self, topic: str, name: str, **more: Any) -> Any:
        from kafkapy.warehouse.config import WarehouseConfig

        table = {"topic": topic, "table": "bookings", "format": "avro", "schema": str(self.directory / "schema.avsc")}
        return WarehouseConfig.of(
            {
                "root": str(self.directory / name),
                "metastore_directory": str(self.directory / "metastore"),
                "database": name,
                "kafka": {"bootstrap.servers": self._bootstrap},
                "max_events_per_batch": self._batch,
                "grace_minutes": 0,
                **more,
                "tables": [table],
                "spark": {
                    "spark.master": "local[2]",
                    "spark.driver.memory": "2g",
                    "spark.jars": ",".join(jars()),
                    "spark.log.level": "ERROR",
                    "spark.local.dir": str(self.directory / "spark"),
                },
            }
        )

    def warehouse(self, topic: str, name: str, **more: Any) -> Any:
        from kafkapy.warehouse.warehouse import Warehouse

        made = Warehouse(self.spark, self._config(topic, name, **more))
        made.start()
        return made

    def ours(self, topic: str, name: str) -> tuple[float, Any]:
        """Seconds of all batches, planning included."""
        from kafkapy.warehouse.stream import Stream

        warehouse = self.warehouse(topic, name)
        began = time.perf_counter()
        Stream(warehouse).start(available_now=True).awaitTermination()
        return time.perf_counter() - began, warehouse

    def theirs(self, topic: str, name: str) -> float:
        from pyspark.sql.avro.functions import from_avro
        from pyspark.sql.functions import col, date_format, expr

        reader = self.spark.readStream.format("kafka").option("kafka.bootstrap.servers", self._bootstrap)
        reader = (
            reader.option("subscribe", topic).option("includeHeaders", "true").option("startingOffsets", "earliest")
        )
        records = reader.option("maxOffsetsPerTrigger", str(self._batch)).load()
        rows = records.select(
            from_avro(col("value"), SCHEMA).alias("event"),
            expr("CAST(element_at(filter(headers, h -> h.key = 'event-id'), -1).value AS STRING)").alias("_event_id"),
            col("timestamp").alias("_event_time"),
            col("key").alias("_key"),
            col("partition").alias("_partition"),
            col("offset").alias("_offset"),
            date_format("timestamp", "yyyy-MM-dd").alias("ds"),
            date_format("timestamp", "HH").alias("hr"),
        ).select("event.*", "_event_id", "_event_time", "_key", "_partition", "_offset", "ds", "hr")
        writer = rows.writeStream.format("parquet").partitionBy("ds", "hr").trigger(availableNow=True)
        writer = writer.option("checkpointLocation", str(self.directory / name / "checkpoint"))
        query = writer.start(str(self.directory / name / "rows"))
        query.awaitTermination()
        return _seconds(query)


def _seconds(query: Any) -> float:
    assert query.exception() is None, query.exception()
    return sum(float(each.durationMs["triggerExecution"]) for each in query.recentProgress) / 1000


def cpu_seconds() -> float:
    """Of this process, the JVM and the Python workers, so far."""
    own = psutil.Process()
    total = 0.0
    for each in [own, *own.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            times = each.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def ingest(bench: Bench, bootstrap: str, events: int, rounds: int) -> dict[str, Any]:
    fill(bootstrap, "warm", 100_000)
    bench.ours("warm", "warm_ours")
    bench.theirs("warm", "warm_theirs")
    fill(bootstrap, "bookings", events)
    ours, theirs = [], []
    for round_ in range(rounds):
        began = cpu_seconds()
        theirs.append(bench.theirs("bookings", f"theirs_{round_}"))
        between = cpu_seconds()
        seconds, warehouse = bench.ours("bookings", f"ours_{round_}")
        print(f"CPU: JVM {between - began:.1f} s, kafkapy {cpu_seconds() - between:.1f} s", flush=True)
        ours.append(seconds)
        rows = sum(warehouse.state.current_rows("bookings").values())
        found = bench.spark.read.parquet(str(bench.directory / f"theirs_{round_}" / "rows")).count()
        assert rows == found == events, (rows, found)
        print(f"round {round_}: JVM {events / theirs[-1]:,.0f}, kafkapy {events / ours[-1]:,.0f} events/s", flush=True)
    one, other = statistics.median(theirs), statistics.median(ours)
    return {"case": f"{events} events to rows", "jvm_s": one, "kafkapy_s": other, "ratio": one / other}


def rollup(bench: Bench, bootstrap: str, events: int) -> dict[str, Any]:
    """Two rounds, of each the better: in the first the JVM compiles both."""
    from kafkapy.warehouse.rollup import roll_up

    fill(bootstrap, "hour", events)
    ours, theirs = [], []
    for round_ in range(2):
        _, warehouse = bench.ours("hour", f"rollup_{round_}")
        paths = [str(p) for p in (bench.directory / f"rollup_{round_}" / "current").glob("*/*/s=*")]
        target = str(bench.directory / "dropped")
        begin = time.monotonic()
        rows = bench.spark.read.parquet(*paths).dropDuplicates(["_event_id"])
        rows.write.mode("overwrite").parquet(target, compression="zstd")
        between = time.monotonic()
        (generation,) = roll_up(warehouse, "2026-11-24-01").generations  # type: ignore[union-attr]
        ours.append(time.monotonic() - between)
        theirs.append(between - begin)
        print(f"round {round_}: JVM {theirs[-1]:.1f} s, kafkapy {ours[-1]:.1f} s", flush=True)
        found = bench.spark.read.parquet(target).count()
        assert generation.rows == found, (generation.rows, found)
    one, other = min(theirs), min(ours)
    return {"case": f"rollup of {events} events", "jvm_s": one, "kafkapy_s": other, "ratio": one / other}


def freshness(bench: Bench, bootstrap: str, trigger: float, rate: int, seconds: float) -> str:
    import threading

    import numpy as np

    from kafkapy.warehouse.metrics import CommittedBatch
    from kafkapy.warehouse.stream import run

    name = f"fresh_{trigger:g}".replace(".", "_")
    with AdminClient(bootstrap) as admin:
        values_of(admin.create_topics([NewTopic(name, PARTITIONS, 1)]))
    warehouse = bench.warehouse(name, name, trigger_seconds=trigger)
    batches: list[CommittedBatch] = []
    stopped = threading.Event()
    sender = threading.Thread(target=send_steadily, args=(bootstrap, name, rate, stopped))
    ending = threading.Timer(seconds, stopped.set)
    sender.start()
    ending.start()
    try:
        run(warehouse, stopped, on_batch=batches.append)
    finally:
        stopped.set()
        ending.cancel()
        sender.join()
    ages = [
        each.done_ms - np.linspace(each.oldest_ms, each.newest_ms, sum(each.rows.values()))
        for each in batches[2:]
        if each.oldest_ms is not None and each.newest_ms is not None
    ]
    for each in batches:
        print(
            f"batch {each.number}: {sum(each.rows.values())} rows, {(each.done_ms - each.began_ms) / 1000:.1f} s",
            flush=True,
        )
    p50, p99, most = np.quantile(np.concatenate(ages), [0.5, 0.99, 1]) / 1000
    return (
        f"freshness, a batch each {trigger:g} s, {rate} events/s, {len(ages)} batches: p50 {p50:.1f} s, p99 {p99:.1f} s, "
        f"most {most:.1f} s"
    )


def send_steadily(bootstrap: str, topic: str, rate: int, stopped: Any) -> None:
    """A tenth of a second's events at a time, with the time of their sending."""
    import pyarrow as pa

    from kafkapy.producer.kafka_producer import KafkaProducer

    rows = rate // 10
    pool = pa.array(values(rows), pa.binary())
    first = 0
    with KafkaProducer(bootstrap_servers=bootstrap, linger_ms=20) as producer:
        due = time.monotonic()
        while not stopped.wait(max(due - time.monotonic(), 0)):
            headers = [[{"key": "event-id", "value": b"%d" % number}] for number in range(first, first + rows)]
            type_ = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
            times = pa.array([int(time.time() * 1000)] * rows)
            table = {"value": pool, "timestamp": times, "headers": pa.array(headers, type_)}
            producer.send_arrow(topic, pa.table(table))
            first += rows
            due += 0.1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default="ingest,rollup,freshness", help="which of them; default: %(default)s")
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--rollup-events", type=int, default=5_000_000)
    parser.add_argument("--batch", type=int, default=1_000_000, help="events of a micro-batch, of both")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trigger", type=float, default=5, help="seconds between batches, of freshness")
    parser.add_argument("--rate", type=int, default=2_000, help="events a second, of freshness")
    parser.add_argument("--seconds", type=float, default=0, help="of freshness; default: 20 batches, at least 200 s")
    args = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="kafkapy-warehouse-"))
    server = KafkapyServer("kafkapy", directory / "broker")
    try:
        server.start()
        bench = Bench(directory, server.bootstrap, args.batch)
        results = []
        parts = args.parts.split(",")
        if "ingest" in parts:
            results.append(ingest(bench, server.bootstrap, args.events, args.rounds))
        if "rollup" in parts:
            results.append(rollup(bench, server.bootstrap, args.rollup_events))
        if "freshness" in parts:
            seconds = args.seconds or max(20 * args.trigger, 200)
            print(freshness(bench, server.bootstrap, args.trigger, args.rate, seconds), flush=True)
        if results:
            print("| case | Spark's own, s | kafkapy.warehouse, s | ratio |\n| --- | ---: | ---: | ---: |")
        for each in results:
            print(
                f"| {each['case']} | {each['jvm_s']:.1f} | {each['kafkapy_s']:.1f} | {each['ratio']:.2f} |", flush=True
            )
        bench.spark.stop()
    finally:
        server.close()
        shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
