"""Connect workers side by side, one distributed worker each, against one broker.

    python -m benchmarks.connect [BOOTSTRAP] [--records 300000] [--rounds 3] [--with kafkapy,java]
        [--jobs source,source-transforms,sink,sink-transforms,sql,parquet]

Without BOOTSTRAP a broker of kafkapy's is started for it. Each job runs once to warm the worker up with a fifth of the
records, and is then measured: the time until all records are at the other end, the CPU time and the highest memory of the
worker's process. `sql` writes to a PostgreSQL that is started for it; Java's worker does so with Debezium's sink.
`parquet` writes files, and has no counterpart in Maven Central. The figures are medians of the rounds.
"""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.apache import jars, java
from benchmarks.clients import broker
from benchmarks.streams import cpu_seconds, memory_mib, stop
from benchmarks.table import number
from kafkapy.admin import KafkaAdminClient
from kafkapy.producer import KafkaProducer
from kafkapy.protocol.errors import KafkaError
from kafkapy.structs import OffsetSpec, TopicPartition
from tests.databases.postgresql import PostgresqlServer

ROOT = Path(__file__).parent.parent
POM = Path(__file__).with_name("connect-pom.xml")
WORKERS = ("kafkapy", "java")
JOBS = ("source", "source-transforms", "sink", "sink-transforms", "sql", "parquet")
HEAP = ("-Xms256M", "-Xmx2G", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35")
"""As in connect-distributed.sh of the distribution."""
TIMEOUT_S = 600
_FILE = "org.apache.kafka.connect.file.FileStream"
_TRANSFORM = "org.apache.kafka.connect.transforms."
_LINE = b"%09d " + (b"the quick brown fox jumps over the lazy dog " * 3)[:89]
_JSON = "org.apache.kafka.connect.json.JsonConverter"
_ROW = {
    "type": "struct",
    "fields": [
        {"field": "id", "type": "int64"},
        {"field": "name", "type": "string"},
        {"field": "price", "type": "double"},
    ],
}


class Figures(NamedTuple):
    """Of one worker and job.

    Attributes:
        rate: Records a second.
        cpu_us: CPU time a record, in microseconds.
        memory_mib: The highest resident memory.
        start_s: From the start of the process to the first answer of its REST interface.
    """

    rate: float
    cpu_us: float
    memory_mib: float
    start_s: float


class Job(NamedTuple):
    """One run of a connector. `arrived` counts the records at the other end."""

    config: dict[str, str]
    records: int
    arrived: Callable[[], int]


class Place(NamedTuple):
    """What all jobs use. `database`: for the job `sql`, else None."""

    bootstrap: str
    folder: Path
    database: PostgresqlServer | None


def main() -> None:
    options = arguments()
    jobs = options.jobs.split(",")
    with (
        broker(options.bootstrap) as bootstrap,
        tempfile.TemporaryDirectory(prefix="connect-benchmark-") as name,
        database("sql" in jobs) as server,
    ):
        place = Place(bootstrap, Path(name), server)
        fill(place, options.records, options.records // 5, jobs)
        print("| job | worker | rec/s | CPU us/rec | MiB | start s |\n|---|---|--:|--:|--:|--:|")
        for job in jobs:
            for worker in options.workers.split(","):
                print(f"| {job} | {worker} | {row(place, worker, job, options)} |", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.connect", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("bootstrap", nargs="?")
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--with", dest="workers", default=",".join(WORKERS))
    return parser.parse_args()


@contextmanager
def database(wanted: bool) -> Iterator[PostgresqlServer | None]:
    if not wanted:
        yield None
        return
    with PostgresqlServer.private() as server:
        yield server


def fill(place: Place, records: int, warm: int, jobs: list[str]) -> None:
    """Write the files of the sources and the topics of the sinks."""
    topics = {"full": records, "warm": warm}
    for name, count in topics.items():
        with open(place.folder / f"{name}.txt", "wb") as file:
            file.writelines(_LINE % index + b"\n" for index in range(count))
    with KafkaProducer(bootstrap_servers=place.bootstrap, linger_ms=5) as producer:
        for name, count in topics.items():
            for first in range(0, count, 10_000):
                some = range(first, min(first + 10_000, count))
                if {"sink", "sink-transforms"} & set(jobs):
                    producer.send_many(f"lines-{name}", [_LINE % index for index in some], partition=0)
                if {"sql", "parquet"} & set(jobs):
                    producer.send_many(f"rows-{name}", [_row(index) for index in some], partition=0)
        producer.flush()


def _row(index: int) -> bytes:
    payload = {"id": index, "name": f"customer number {index}", "price": index / 7}
    return json.dumps({"schema": _ROW, "payload": payload}).encode()


def row(place: Place, worker: str, job: str, options: argparse.Namespace) -> str:
    if (worker, job) == ("java", "parquet"):
        return "no connector in Maven Central | | |"
    try:
        rounds = [measure(place, worker, job, options.records) for _ in range(options.rounds)]
    except RuntimeError as error:
        return f"{error} | | |"
    return " | ".join(number(statistics.median(column)) for column in zip(*rounds, strict=True))


def measure(place: Place, worker: str, job: str, records: int) -> Figures:
    """Run a job in a new worker.

    Raises:
        RuntimeError: The worker or the connector has failed, or took too long.
    """
    name = f"{worker}-{job}-{uuid.uuid4().hex[:6]}"
    port = _free_port()
    with open(place.folder / f"{name}.log", "wb") as log:
        began = time.monotonic()
        process = subprocess.Popen(command(place, worker, name, port), cwd=ROOT, stdout=log, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}/connectors"
        wait(process, lambda: _get(url) is not None)
        started = time.monotonic() - began
        run(process, url, f"{name}-warm", prepared(place, worker, job, f"{name}-warm", "warm", records // 5))
        measured = prepared(place, worker, job, f"{name}-full", "full", records)
        cpu, began = cpu_seconds(process.pid), time.monotonic()
        run(process, url, f"{name}-full", measured)
        took, used = time.monotonic() - began, cpu_seconds(process.pid) - cpu
        return Figures(records / took, 1e6 * used / records, memory_mib(process.pid), started)
    finally:
        stop(process)


def command(place: Place, worker: str, name: str, port: int) -> list[str]:
    """The command of a worker, whose properties it writes."""
    properties = {
        "bootstrap.servers": place.bootstrap,
        "group.id": name,
        "listeners": f"http://127.0.0.1:{port}",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        "offset.flush.interval.ms": "1000",
        "consumer.auto.offset.reset": "earliest",
        **{f"{kind}.storage.topic": f"{name}-{kind}" for kind in ("config", "offset", "status")},
        **{f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")},
        "offset.storage.partitions": "5",
        "status.storage.partitions": "3",
    }
    path = place.folder / f"{name}.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    if worker == "kafkapy":
        return [sys.executable, "-m", "kafkapy.tools.connect.connect_distributed", str(path)]
    log4j = f"-Dlog4j.configuration=file:{ROOT}/benchmarks/log4j.properties"
    return [java(), *HEAP, log4j, "-cp", jars(POM), "org.apache.kafka.connect.cli.ConnectDistributed", str(path)]


def prepared(place: Place, worker: str, job: str, name: str, size: str, records: int) -> Job:
    """A job on the warm or the full input."""
    if job.startswith("source"):
        file = {"connector.class": f"{_FILE}SourceConnector", "file": str(place.folder / f"{size}.txt"), "topic": name}
        more = _SOURCE_TRANSFORMS if job == "source-transforms" else {}
        return Job({**file, **more}, records, lambda: _end_offset(place.bootstrap, name))
    if job.startswith("sink"):
        path = place.folder / f"{name}.out"
        file = {"connector.class": f"{_FILE}SinkConnector", "file": str(path), "topics": f"lines-{size}"}
        more = _SINK_TRANSFORMS if job == "sink-transforms" else {}
        line = len(_LINE % 0) + 1
        return Job({**file, **more}, records, lambda: path.stat().st_size // line if path.exists() else 0)
    rows = {"topics": f"rows-{size}", "value.converter": _JSON, "value.converter.schemas.enable": "true"}
    if job == "sql":
        return _sql(place, worker, name.replace("-", "_"), rows, records)
    folder = place.folder / name
    parquet = {
        "connector.class": "kafkapy.connect.ObjectSinkConnector",
        "store.url": f"file://{folder}",
        "format.class": "io.confluent.connect.s3.format.parquet.ParquetFormat",
        "flush.size": str(records // 4),
    }
    return Job({**rows, **parquet}, records, lambda: _parquet_rows(folder))


def _sql(place: Place, worker: str, table: str, rows: Mapping[str, str], records: int) -> Job:
    server = place.database
    assert server is not None
    url = f"jdbc:postgresql://127.0.0.1:{server.port}/postgres"
    if worker == "kafkapy":
        own = {
            "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
            "connection.url": url,
            "connection.user": "postgres",
            "insert.mode": "upsert",
            "pk.mode": "record_value",
            "pk.fields": "id",
            "table.name.format": table,
            "auto.create": "true",
            "batch.size": "3000",
        }
    else:
        own = {
            "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
            "connection.url": url,
            "connection.username": "postgres",
            "connection.password": "postgres",
            "insert.mode": "upsert",
            "primary.key.mode": "record_value",
            "primary.key.fields": "id",
            "table.name.format": table,
            "schema.evolution": "basic",
            "batch.size": "3000",
        }
    own["consumer.override.max.poll.records"] = "3000"
    return Job({**rows, **own}, records, lambda: _table_rows(server, table))


def run(process: subprocess.Popen[bytes], url: str, name: str, job: Job) -> None:
    """Run a connector until all records have arrived."""
    body = json.dumps({"name": name, "config": {**job.config, "tasks.max": "1"}}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    try:
        urllib.request.urlopen(request, timeout=60).close()
    except urllib.error.HTTPError as error:
        raise RuntimeError(error.read().decode()[:500]) from error
    wait(process, lambda: job.arrived() >= job.records or _failure(f"{url}/{name}/status"))
    urllib.request.urlopen(urllib.request.Request(f"{url}/{name}", method="DELETE"), timeout=60).close()


def wait(process: subprocess.Popen[bytes], done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not done():
        if process.poll() is not None:
            raise RuntimeError(f"the worker has ended with {process.returncode}")
        if time.monotonic() > deadline:
            raise RuntimeError(f"not done in {TIMEOUT_S} s")
        time.sleep(0.05)


def _failure(url: str) -> bool:
    """False. Raises RuntimeError if a task has failed."""
    status = _get(url) or {}
    for task in status.get("tasks", ()):
        if task["state"] == "FAILED":
            raise RuntimeError(task["trace"][-500:].replace("\n", " "))
    return False


def _get(url: str) -> Any:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)
    except (OSError, ValueError):
        return None


def _end_offset(bootstrap: str, topic: str) -> int:
    partition = TopicPartition(topic, 0)
    try:
        with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
            return admin.list_partition_offsets({partition: OffsetSpec.LATEST})[partition].offset
    except KafkaError:
        return 0  # the topic is not there yet


def _table_rows(server: PostgresqlServer, table: str) -> int:
    import psycopg

    with psycopg.connect(server.dsn) as connection:
        if not connection.execute("SELECT to_regclass(%s)", (table,)).fetchone()[0]:
            return 0
        return int(connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0])


def _parquet_rows(folder: Path) -> int:
    import pyarrow.parquet as parquet

    return sum(parquet.read_metadata(path).num_rows for path in folder.rglob("*.parquet"))


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _chain(**steps: Mapping[str, str]) -> dict[str, str]:
    """The configs of transforms: for each its class, as `type`, and its settings."""
    configs = {"transforms": ",".join(steps)}
    for alias, settings in steps.items():
        for key, value in settings.items():
            configs[f"transforms.{alias}.{key}"] = _TRANSFORM + value if key == "type" else value
    return configs


_SOURCE_TRANSFORMS = {
    "value.converter": _JSON,
    "value.converter.schemas.enable": "false",
    **_chain(
        hoist={"type": "HoistField$Value", "field": "line"},
        insert={
            "type": "InsertField$Value",
            "static.field": "by",
            "static.value": "benchmark",
            "topic.field": "origin",
        },
        rename={"type": "ReplaceField$Value", "renames": "line:text"},
        header={"type": "InsertHeader", "header": "h", "value.literal": "1"},
        route={"type": "RegexRouter", "regex": "(.*)", "replacement": "$1"},
    ),
}
_SINK_TRANSFORMS = _chain(
    hoist={"type": "HoistField$Value", "field": "line"},
    insert={"type": "InsertField$Value", "topic.field": "t", "partition.field": "p", "offset.field": "o"},
    mask={"type": "MaskField$Value", "fields": "t"},
    extract={"type": "ExtractField$Value", "field": "line"},
)

if __name__ == "__main__":
    main()
