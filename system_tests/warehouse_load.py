"""What test_warehouse.py does to a pipeline: producers, kills, what a reader must see, what must be there at the end."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from kafkapy.producer.kafka_producer import KafkaProducer
from kafkapy.schemas.types import Schema
from kafkapy.schemas.wire_format import prefix
from kafkapy.warehouse.config import WarehouseConfig
from kafkapy.warehouse.metastore_server import command
from system_tests.services import ROOT, KafkaService

HOURS, PRODUCERS, PARTITIONS = 5, 8, 4
JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""These JVMs live for a minute: half of it would go to the best machine code."""
FIRST_MS = 1_795_392_000_000
"""2026-11-23T00:00Z."""
CITIES = [b"Kyoto", b"Lisbon", b"Ushuaia"]
CHUNK = 1_000


def schema(*fields: Any) -> Schema:
    return Schema(json.dumps({"type": "record", "name": "shop.Booking", "fields": fields}))


ID, WIDE_ID = ({"name": "id", "type": kind} for kind in ("int", "long"))
CITY = {"name": "city", "type": "string"}
NOTE = {"name": "note", "type": ["null", "string"], "default": None}
SCHEMAS = [schema(ID, CITY), schema(ID, CITY, NOTE), schema(WIDE_ID, CITY, NOTE)]
"""The second is an ADDITION, the third a REVISION."""


def zigzag(number: int) -> bytes:
    rest, encoded = number << 1, bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*encoded, rest])


class Truth:
    """Event n is of hour n * HOURS // count."""

    def __init__(self, count: int, schema_ids: list[int]) -> None:
        self.count = count
        self._prefixes = [prefix(each) for each in schema_ids]

    def hour(self, number: int) -> int:
        return number * HOURS // self.count

    def time(self, number: int) -> int:
        return FIRST_MS + number * HOURS * 3_600_000 // self.count

    def value(self, number: int) -> bytes:
        version = self.hour(number) * 3 // HOURS
        city = CITIES[number % 3]
        data = zigzag(number) + zigzag(len(city)) + city
        return self._prefixes[version] + data + (b"" if version == 0 else b"\x00" if number % 2 else b"\x02\x04ok")

    def name(self, hour: int) -> str:
        return time.strftime("%Y-%m-%d-%H", time.gmtime(FIRST_MS / 1000 + hour * 3600))

    def hours(self) -> dict[str, list[int]]:
        """As the reader has it."""
        found = {}
        for hour in range(HOURS):
            numbers = [n for n in range(self.count) if self.hour(n) == hour]
            found[self.name(hour)] = [len(numbers), len(numbers), sum(numbers)]
        return found


class Pace:
    """How much of the events may be sent by now: it goes on with the kills. 1 is all."""

    allowed = 0.0


def produce(bootstrap: str, truth: Truth, producer_number: int, directory: Path, pace: Pace) -> None:
    """Its share of the events; the hour that is being sent is in DIRECTORY/cutoff, since those before it are over."""
    dice = random.Random(producer_number)
    late: list[int] = []
    sent: list[int] = []
    with KafkaProducer(bootstrap_servers=bootstrap, linger_ms=20, delivery_timeout_ms=600_000) as producer:
        own = range(producer_number, truth.count, PRODUCERS)
        chunk = min(CHUNK, len(own) // 50)  # so that there is something new after each kill
        for first in range(0, len(own), chunk):
            while first / len(own) > pace.allowed:
                time.sleep(0.1)
            numbers = []
            for number in own[first : first + chunk]:
                if dice.random() < 0.02 and truth.hour(number) < HOURS - 1:
                    late.append(number)
                else:
                    numbers.append(number)
            hour = truth.hour(own[first])
            numbers += [number for number in late if truth.hour(number) < hour]
            late = [number for number in late if truth.hour(number) >= hour]
            again = [dice.choice(sent) for _ in range(len(numbers) // 20)] if sent else []
            sent += numbers
            for number in numbers + again:
                headers = [("event-id", b"e%d" % number), ("producer-id", b"p%d" % producer_number)]
                producer.send("bookings", truth.value(number), timestamp_ms=truth.time(number), headers=headers)
            for number in range(len(numbers) // 1000 or 1):
                headers = [("event-id", b"broken-%d-%d-%d" % (producer_number, first, number))]
                producer.send(
                    "bookings", b"\x00\x00\x00\x00\x01\xff", timestamp_ms=truth.time(own[first]), headers=headers
                )
            if producer_number == 0:
                replaced = directory / "cutoff.new"
                replaced.write_text(truth.name(hour))
                replaced.rename(directory / "cutoff")
        for number in late:
            headers = [("event-id", b"e%d" % number)]
            producer.send("bookings", truth.value(number), timestamp_ms=truth.time(number), headers=headers)
        producer.flush()


class Process:
    """Of warehouse_processes; started again whenever it has been killed. `workers`: what runs its tasks elsewhere; by default
    these are Python processes among its children."""

    def __init__(
        self, kind: str, config: Path, directory: Path, workers: Callable[[], list[psutil.Process]] | None = None
    ) -> None:
        self._workers = workers or self._own_workers
        self._words = [sys.executable, "-m", "system_tests.warehouse_processes", kind, str(config), str(directory)]
        self.log = directory / f"{kind}.log"
        self.notes_path = directory / f"{kind}.jsonl"
        self.start()

    def start(self) -> None:
        self.since = time.time()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self._words, cwd=ROOT, stdout=log, stderr=log, start_new_session=True)

    def kill(self) -> None:
        """With all its children."""
        family = self._family()
        if self.process.poll() is None:
            self.process.kill()
        for each in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
        self.process.wait()

    def kill_workers(self) -> None:
        """Alone: its tasks fail, and are run again."""
        self.since = time.time()
        for each in self._workers():
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()

    def _own_workers(self) -> list[psutil.Process]:
        found = []
        for each in self._family():
            with contextlib.suppress(psutil.NoSuchProcess):
                if "pyspark.daemon" in " ".join(each.cmdline()):
                    found.append(each)
        return found

    def _family(self) -> list[psutil.Process]:
        try:
            return psutil.Process(self.process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def notes(self) -> list[dict[str, Any]]:
        lines = self.notes_path.read_text().splitlines() if self.notes_path.exists() else []
        found = []
        for line in lines:
            try:
                found.append(json.loads(line))
            except ValueError:  # cut off by a kill
                continue
        return found

    def has_gone_on(self) -> bool:
        """Has it committed a batch since it was started, or killed?"""
        return any("batch" in each and each["at"] > self.since for each in self.notes())

    def last(self, name: str) -> Any:
        return next((each[name] for each in reversed(self.notes()) if name in each), None)


@contextmanager
def metastore(config: WarehouseConfig, directory: Path) -> Iterator[None]:
    with open(directory / "metastore.log", "wb") as log:
        process = subprocess.Popen(command(config), stdout=log, stderr=log)
    try:
        port = int(config.metastore.rpartition(":")[2])
        end = time.monotonic() + 90
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert time.monotonic() < end, (directory / "metastore.log").read_text()[-2000:]
                time.sleep(0.3)
        yield
    finally:
        process.kill()
        process.wait()


class Sources(NamedTuple):
    """Where a pipeline's events and schemas come from, and where its metastore will listen."""

    bootstrap: str
    registry: str
    metastore_port: int


def configuration(place: Path, sources: Sources, root: str = "", spark: dict[str, str] | None = None) -> Path:
    """The file `place`. Hours are over when the test says so, not by the clock. By default tables are beside it, and tasks in the
    driver."""
    directory = place.parent
    configs = {
        "spark.master": "local[2,8]",
        "spark.driver.memory": "700m",
        "spark.sql.shuffle.partitions": "4",
        "spark.log.level": "ERROR",
        "spark.local.dir": f"{directory}/spark",
        "spark.driver.extraJavaOptions": JVM_OPTIONS,
        **(spark or {}),
    }
    place.write_text(
        f'root = "{root or directory / "tables"}"\nmetastore = "thrift://127.0.0.1:{sources.metastore_port}"\n'
        f'metastore_directory = "{directory}/metastore"\ntrigger_seconds = 2\ngrace_minutes = 2\n'
        f"rollup_delay_minutes = 1_000_000\nmax_events_per_batch = 200_000\n"
        f'[kafka]\n"bootstrap.servers" = "{sources.bootstrap}"\n[registry]\nurl = "{sources.registry}"\n'
        '[[tables]]\ntopic = "bookings"\n'
        "[spark]\n" + "".join(f'"{name}" = "{value}"\n' for name, value in configs.items())
    )
    return place


def check_reader(notes: list[dict[str, Any]]) -> int:
    """No event twice, none that goes again, no query that fails once there is a table; how many queries that were."""
    seen: dict[str, list[int]] = {}
    for each in notes:
        if "error" in each:
            assert not seen and "TABLE_OR_VIEW_NOT_FOUND" in each["error"], each["error"]
        for hour, (rows, events, ids) in each.get("hours", {}).items():
            assert rows == events, f"{hour}: {rows} rows of {events} events"
            before = seen.get(hour, [0, 0, 0])
            assert events >= before[1] and ids >= before[2], f"{hour}: {before} became {[rows, events, ids]}"
            seen[hour] = [rows, events, ids]
        for hour in seen:
            assert not each.get("hours") or hour in each["hours"], f"{hour} is gone"
    return sum("hours" in each for each in notes)


@dataclass
class Ordeal:
    """A pipeline under kills. `reader_config`: of the process that queries; `workers`: as of `Process`."""

    broker: KafkaService
    truth: Truth
    directory: Path
    config: Path
    reader_config: Path
    kills: int
    seed: int = 1
    workers: Callable[[], list[psutil.Process]] | None = None

    def run(self) -> int:
        """Until all is rolled up and each event was seen once; how many queries the reader has made."""
        pace = Pace()
        producing = [
            threading.Thread(target=produce, args=(self.broker.bootstrap, self.truth, number, self.directory, pace))
            for number in range(PRODUCERS)
        ]
        for thread in producing:
            thread.start()
        driver = Process("driver", self.config, self.directory, self.workers)
        reader = Process("reader", self.reader_config, self.directory)
        try:
            self._kill(driver, pace)
            pace.allowed = 1.0
            for thread in producing:
                thread.join()
            self._finish(driver, reader)
        finally:
            pace.allowed = 1.0
            driver.kill()
            reader.kill()
        made = check_reader(reader.notes())
        assert made > self.kills
        assert reader.last("hours") == self.truth.hours()
        return made

    def _kill(self, driver: Process, pace: Pace) -> None:
        dice = random.Random(self.seed)
        kills = self.kills
        for number in range(kills):
            pace.allowed = (number + 1) / (kills + 1)
            wait_for(driver.has_gone_on, driver, 240)
            if number % 3 == 1:  # while a rollup writes
                seen = len(driver.notes())
                end = time.monotonic() + 20
                while time.monotonic() < end and not any("rolling" in each for each in driver.notes()[seen:]):
                    time.sleep(0.02)
            time.sleep(dice.random() * 3)
            if number % 4 == 3:
                driver.kill_workers()
            else:
                driver.kill()
                driver.start()
            if number in (kills // 3, 2 * kills // 3):
                self.broker.hard_bounce()

    def _finish(self, driver: Process, reader: Process) -> None:
        last = self.truth.name(HOURS)
        (self.directory / "cutoff").write_text(last)
        wanted = ends(self.broker.bootstrap)
        wait_for(lambda: driver.last("offsets") == wanted and driver.last("rolled") == last, driver, 600)
        queries = len(reader.notes())
        wait_for(lambda: len(reader.notes()) > queries + 2, reader, 120)
        (self.directory / "stop").touch()
        driver.process.wait(120)
        reader.process.wait(120)


def ends(bootstrap: str) -> int:
    from kafkapy import KafkaConsumer
    from kafkapy.structs import TopicPartition

    with KafkaConsumer(bootstrap_servers=bootstrap) as consumer:
        partitions = [TopicPartition("bookings", each) for each in range(PARTITIONS)]
        return sum(consumer.end_offsets(partitions).values())


def wait_for(condition: Any, process: Process, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert process.process.poll() is None, process.log.read_text()[-4000:]
        assert time.monotonic() < end, process.log.read_text()[-4000:]
        time.sleep(0.1)


def check_the_end(truth: Truth, config: WarehouseConfig) -> None:
    """Rows of each hour's partition, the audit, and backfill."""
    from kafkapy.warehouse.audit import audit, table_of
    from kafkapy.warehouse.backfill import backfill
    from kafkapy.warehouse.session import session
    from kafkapy.warehouse.warehouse import Warehouse

    warehouse = Warehouse(session(config), config)
    try:
        warehouse.start()
        text = (
            "SELECT concat(ds, '-', hr) AS hour, count(*), count(DISTINCT id), sum(id), count(note), "
            "sum(xxhash64(*) % 1000000007) FROM warehouse.bookings GROUP BY ds, hr ORDER BY hour"
        )
        rows = [tuple(row) for row in warehouse.spark.sql(text).collect()]
        assert {row[0]: list(row[1:4]) for row in rows} == truth.hours()
        report = audit(warehouse)
        assert report.is_good, table_of(report)
        backfill(warehouse, [truth.name(hour) for hour in range(HOURS)])
        assert [tuple(row) for row in warehouse.spark.sql(text).collect()] == rows
    finally:
        warehouse.spark.stop()
        signal.signal(signal.SIGTERM, signal.default_int_handler)
