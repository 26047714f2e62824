"""Random changes of a PostgreSQL are captured while workers and the server are killed: tables made of the topics are equal."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kafkapy import KafkaConsumer
from kafkapy.testing import KafkaCluster
from system_tests.capturing_worker import CapturingWorker
from system_tests.conftest import Note
from tests.connect.connectors.postgresql.workload import TABLES, RebuiltTables, Workload, differences
from tests.databases.postgresql import PostgresqlServer

SECONDS = 900
QUIET_SECONDS = 5
_PREFIX = "captured"


def _connector(server: PostgresqlServer) -> dict[str, str]:
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "database.hostname": "127.0.0.1",
        "database.port": str(server.port),
        "database.user": "postgres",
        "database.dbname": "postgres",
        "topic.prefix": _PREFIX,
    }


class RebuildingReader:
    """Makes tables of the topics. Invariant: `events` counts what is applied."""

    def __init__(self, bootstrap: str) -> None:
        self.rebuilt, self.events = RebuiltTables(), 0
        topics = [f"{_PREFIX}.public.{table}" for table in TABLES]
        self._consumer: KafkaConsumer[Any, Any] = KafkaConsumer(
            *topics, bootstrap_servers=bootstrap, auto_offset_reset="earliest", metadata_max_age_ms=500
        )

    def read(self, wait_s: float) -> None:
        for records in self._consumer.poll(timeout_ms=wait_s * 1000).values():
            for record in records:
                value = None if record.value is None else json.loads(record.value)
                op, after = (None, None) if value is None else (value["op"], value["after"])
                old = next((data for name, data in record.headers if name == "__debezium.oldkey"), None)
                key = None if record.key is None else _only(record.key)
                self.rebuilt.apply(record.topic, key, op, after, None if old is None else _only(old))
                self.events += 1

    def close(self) -> None:
        self._consumer.close()


def _read_some(reader: RebuildingReader, events: int) -> None:
    """Read so many events; fewer if no more come."""
    wanted, last = reader.events + events, time.monotonic()
    while reader.events < wanted and time.monotonic() < last + QUIET_SECONDS:
        before = reader.events
        reader.read(0.1)
        if reader.events > before:
            last = time.monotonic()


def _only(data: bytes) -> Any:
    (value,) = json.loads(data).values()
    return value


@pytest.mark.timeout(SECONDS)
def test_tables_made_of_topics_equal_the_source(
    tmp_path: Path, kills: int, pytestconfig: pytest.Config, note: Note
) -> None:
    pytest.importorskip("psycopg2")
    transactions: int = pytestconfig.getoption("--transactions")
    random = Random(pytestconfig.getoption("--seed"))
    with PostgresqlServer.private() as server, KafkaCluster() as cluster:
        bootstrap = str(cluster.bootstrap_servers)
        workload = Workload(server.dsn, random.randrange(1000))
        workload.prepare()
        worker, reader = CapturingWorker(bootstrap, _connector(server), tmp_path), RebuildingReader(bootstrap)
        worker.start()
        started = time.monotonic()
        try:
            while not reader.events:
                assert time.monotonic() < started + SECONDS / 2, worker.log_text()
                reader.read(0.5)
            for number in range(kills + 1):
                share = transactions * (number + 1) // (kills + 1) - transactions * number // (kills + 1)
                with ThreadPoolExecutor() as pool:
                    writing = pool.submit(workload.run, share)
                    _read_some(reader, random.randint(1, max(1, share)))
                    worker.kill()
                    worker.start()
                    writing.result()
            deadline = time.monotonic() + SECONDS / 2
            while wrong := differences(server.dsn, reader.rebuilt):
                assert time.monotonic() < deadline, f"{wrong}; {worker.log_text()}"
                reader.read(0.5)
        finally:
            worker.kill()
            reader.close()
            workload.close()
        note("transactions", transactions)
        note("kills", kills)
        note("events", reader.events)
        note("seconds", round(time.monotonic() - started))
