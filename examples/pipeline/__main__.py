"""The whole path on this machine: a broker, a registry, events by the bus, the warehouse on Spark, a query, the audit, the page.

    bin/demo-pipeline.sh [FILE ...]

Without a FILE the events are real ones of this machine: what dpkg has done, and the modules of Python's library; else lines of
the files. One event in twenty is sent twice. What is left lies in the directory that is named at the end.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from examples.pipeline.events import all_of
from kafkapy.bus.blocking import Bus
from kafkapy.common.free_ports import free_ports
from kafkapy.testing.cluster import KafkaCluster

ROOT = Path(__file__).parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(
        "demo-pipeline", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--dir", type=Path, help="where everything lies; a new directory if left out")
    args = parser.parse_args()
    missing = [str(path) for path in args.files if not path.is_file()]
    if missing:
        print(f"There is no file {', '.join(missing)}", file=sys.stderr)
        return 1
    directory = args.dir or Path(tempfile.mkdtemp(prefix="kafkapy-pipeline-"))
    topics = ["lines"] if args.files else ["package_changes", "modules"]
    with (
        # What dpkg did long ago is older than brokers keep events by default.
        KafkaCluster(topics=",".join(f"{topic}:3" for topic in topics), config={"log.retention.ms": -1}) as cluster,
        registry(directory, cluster.bootstrap_servers) as url,
    ):
        sent = send(cluster.bootstrap_servers, url, args.files)
        say(f"{sent} records are sent (an event in twenty twice)")
        return pipeline(directory, cluster.bootstrap_servers, url, topics)


def say(text: str) -> None:
    print(f"\n== {text}", flush=True)


@contextmanager
def registry(directory: Path, bootstrap: str) -> Iterator[str]:
    """As bin/schema-registry-start.sh runs it."""
    (port,) = free_ports(1)
    directory.mkdir(parents=True, exist_ok=True)
    properties = directory / "schema-registry.properties"
    properties.write_text(f"listeners=http://127.0.0.1:{port}\nkafkastore.bootstrap.servers={bootstrap}\n")
    words = [sys.executable, "-m", "kafkapy.tools.schema_registry_start", str(properties)]
    with open(directory / "schema-registry.log", "wb") as log:
        process = subprocess.Popen(words, cwd=ROOT, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        end = time.monotonic() + 60
        while not _answers(url):
            if process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"The registry does not start, see {directory}/schema-registry.log")
            time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        process.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/subjects", timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False


def send(bootstrap: str, url: str, files: list[Path]) -> int:
    sent = 0
    with Bus(bootstrap, url, application="demo", auto_register=True) as bus:
        for number, (event, at) in enumerate(all_of(files)):
            name = str(uuid4())
            for _ in range(2 if number % 20 == 0 else 1):
                bus.send_soon(event, time_ms=at, event_id=name)
                sent += 1
    return sent


def pipeline(directory: Path, bootstrap: str, url: str, topics: list[str]) -> int:
    from kafkapy.warehouse.audit import audit, table_of
    from kafkapy.warehouse.config import WarehouseConfig
    from kafkapy.warehouse.metrics import RunProgress
    from kafkapy.warehouse.page import page
    from kafkapy.warehouse.rollup import roll_up
    from kafkapy.warehouse.session import session
    from kafkapy.warehouse.stream import hour_at, run
    from kafkapy.warehouse.warehouse import Warehouse

    config = WarehouseConfig.of(
        {
            "root": str(directory / "tables"),
            "kafka": {"bootstrap.servers": bootstrap},
            "registry": {"url": url},
            "tables": [{"topic": topic} for topic in topics],
            "spark": {
                "spark.master": "local[2]",
                "spark.driver.memory": "900m",
                "spark.sql.shuffle.partitions": "2",
                "spark.log.level": "ERROR",
            },
        }
    )
    say("Spark and the metastore start")
    warehouse = Warehouse(session(config), config)
    try:
        warehouse.start()
        progress = RunProgress()
        run(warehouse, threading.Event(), available_now=True, progress=progress)
        _show(warehouse, "In current, at once", topics)
        roll_up(warehouse, hour_at(time.time() * 1000 + 3_600_000))
        _show(warehouse, "Rolled up, the same", topics)
        report = audit(warehouse)
        say("The audit")
        print(table_of(report))
        place = directory / "page.html"
        place.write_text(page(warehouse.state, progress, report.to_json()))
        say(f"The page: {place.absolute()}; tables, ledger and metastore are beside it")
        return 0 if report.is_good else 1
    finally:
        warehouse.spark.stop()


def _show(warehouse: Any, title: str, topics: list[str]) -> None:
    say(title)
    for topic in topics:
        if topic in warehouse.state.tables:
            text = f"SELECT ds, hr, count(*) AS events, count(DISTINCT _event_id) AS ids FROM warehouse.{topic} GROUP BY 1, 2"
            print(topic)
            warehouse.spark.sql(f"{text} ORDER BY 1, 2").show(20)


if __name__ == "__main__":
    sys.exit(main())
