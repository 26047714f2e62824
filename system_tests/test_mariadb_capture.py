"""Random changes of a MariaDB are captured while workers are killed: tables made of the topics are equal."""

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
from tests.databases.mariadb import DATABASE, PASSWORD, USER, MariadbServer

SECONDS = 900
QUIET_SECONDS = 5
_PREFIX = "captured"


def _connector(server: MariadbServer) -> dict[str, str]:
    return {
        "connector.class": "io.debezium.connector.mariadb.MariaDbConnector",
        "database.hostname": "127.0.0.1",
        "database.port": str(server.port),
        "database.user": USER,
        "database.password": PASSWORD,
        "topic.prefix": _PREFIX,
        "decimal.handling.mode": "string",
    }


class CopyingReader:
    """Makes tables of the topics. Invariant: `events` counts what is applied."""

    def __init__(self, bootstrap: str, tables: tuple[str, ...], copies: Any) -> None:
        self.copies, self.events = copies, 0
        topics = [f"{_PREFIX}.{DATABASE}.{table}" for table in tables]
        self._consumer: KafkaConsumer[Any, Any] = KafkaConsumer(
            *topics, bootstrap_servers=bootstrap, auto_offset_reset="earliest", metadata_max_age_ms=500
        )

    def read(self, wait_s: float) -> None:
        for records in self._consumer.poll(timeout_ms=wait_s * 1000).values():
            for record in records:
                value = None if record.value is None else json.loads(record.value)
                op, after = (None, None) if value is None else (value["op"], value["after"])
                self.copies.apply(record.topic, None if record.key is None else _key(record.key), op, after)
                self.events += 1

    def read_some(self, events: int) -> None:
        """Read so many events; fewer if no more come."""
        wanted, last = self.events + events, time.monotonic()
        while self.events < wanted and time.monotonic() < last + QUIET_SECONDS:
            before = self.events
            self.read(0.1)
            if self.events > before:
                last = time.monotonic()

    def close(self) -> None:
        self._consumer.close()


def _key(data: bytes) -> Any:
    values = tuple(json.loads(data).values())
    return values[0] if len(values) == 1 else values


@pytest.mark.timeout(SECONDS)
def test_tables_made_of_topics_equal_those_of_mariadb(
    tmp_path: Path, kills: int, pytestconfig: pytest.Config, note: Note
) -> None:
    pytest.importorskip("pymysql")
    from tests.connect.connectors.mysql.binlog_workload import BINLOG_TABLES, BinlogCopies, BinlogWorkload

    transactions: int = pytestconfig.getoption("--transactions")
    random = Random(pytestconfig.getoption("--seed"))
    with MariadbServer.private() as server, KafkaCluster() as cluster:
        bootstrap = str(cluster.bootstrap_servers)
        workload, copies = BinlogWorkload(server, random.randrange(1000)), BinlogCopies()
        workload.create()
        worker, reader = (
            CapturingWorker(bootstrap, _connector(server), tmp_path),
            CopyingReader(bootstrap, BINLOG_TABLES, copies),
        )
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
                    reader.read_some(random.randint(1, max(1, share)))
                    worker.kill()
                    worker.start()
                    writing.result()
            deadline = time.monotonic() + SECONDS / 2
            while wrong := copies.differences(server):
                assert time.monotonic() < deadline, f"{wrong}; {worker.log_text()}"
                reader.read(0.5)
        finally:
            worker.kill()
            reader.close()
        note("transactions", transactions)
        note("kills", kills)
        note("events", reader.events)
        note("seconds", round(time.monotonic() - started))
