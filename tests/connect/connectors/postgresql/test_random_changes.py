"""Random changes while the task is killed at random places: tables made of the events are as those of the server."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

pytest.importorskip("psycopg2")

from tests.connect.connectors.postgresql.captured import CaptureRun, CaptureWorld, plain, plain_key
from tests.connect.connectors.postgresql.workload import RebuiltTables, Workload, differences
from tests.databases.postgresql import PostgresqlServer
from tests.waiting import wait_until

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresqlServer]:
    with PostgresqlServer.private() as server:
        yield server


@pytest.mark.parametrize("seed", range(3))
def test_rebuilt_tables_equal_the_source(server: PostgresqlServer, seed: int) -> None:
    random = Random(seed)
    world = CaptureWorld(server, {"skipped.operations": "none", "max.batch.size": "20", "snapshot.fetch.size": "4"})
    workload, rebuilt = Workload(server.dsn, seed), RebuiltTables()
    workload.prepare()
    for kill in range(12):
        with world.running() as run:
            for _ in range(random.randint(2, 6)):
                workload.run(random.randint(0, 10))
                run.poll()
                run.deliver(random.randint(0, 30))
            _apply(run, rebuilt)
        if kill == 6:
            server.kill()
            server.start()
            workload = Workload(server.dsn, seed + 100)
    with world.running() as run:

        def is_equal() -> bool:
            before = len(run.delivered)
            run.poll()
            run.deliver()
            _apply(run, rebuilt, before)
            return not differences(server.dsn, rebuilt)

        wait_until(is_equal, lambda: differences(server.dsn, rebuilt))
    workload.close()
    world.clean()


def _apply(run: CaptureRun, rebuilt: RebuiltTables, start: int = 0) -> None:
    """Apply what has been delivered: what was polled only has never been in Kafka."""
    for record in run.delivered[start:]:
        value = record.value
        op, after = (None, None) if value is None else (value["op"], plain(value["after"]))
        old_key = record.headers.last_with_name("__debezium.oldkey")
        moved_from = None if old_key is None else plain_key(old_key.value)
        rebuilt.apply(str(record.topic), plain_key(record.key), op, after, moved_from)
