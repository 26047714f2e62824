"""Random changes while task and server are killed at random places: tables made of the events are as those of the server."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

pytest.importorskip("pymysql")

from tests.connect.connectors.mysql.binlog_workload import BinlogCopies, BinlogWorkload
from tests.connect.connectors.mysql.binlog_world import BinlogRun, BinlogWorld
from tests.connect.connectors.postgresql.captured import plain, plain_key
from tests.databases.mariadb import MariadbServer
from tests.waiting import wait_until

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def server() -> Iterator[MariadbServer]:
    with MariadbServer.private() as server:
        yield server


@pytest.mark.parametrize("seed", range(2))
def test_rebuilt_tables_equal_the_source(server: MariadbServer, seed: int) -> None:
    random = Random(seed)
    world = BinlogWorld(server, {"skipped.operations": "none", "max.batch.size": "20", "snapshot.fetch.size": "4"})
    workload, copies = BinlogWorkload(server, seed), BinlogCopies()
    workload.create()
    for kill in range(12):
        with world.running() as run:
            for _ in range(random.randint(2, 6)):
                workload.run(random.randint(0, 6))
                run.poll()
                run.deliver(random.randint(0, 30))
            _apply(run, copies)
        if kill == 6:
            server.kill()
            server.start()
    with world.running() as run:

        def is_equal() -> bool:
            before = len(run.delivered)
            run.poll()
            run.deliver()
            _apply(run, copies, before)
            return not copies.differences(server)

        wait_until(is_equal, lambda: copies.differences(server))
    world.clean()


def _apply(run: BinlogRun, copies: BinlogCopies, start: int = 0) -> None:
    """Apply what has been delivered: what was polled only has never been in Kafka."""
    for record in run.delivered[start:]:
        value = record.value
        op, after = (None, None) if value is None else (value["op"], plain(value["after"]))
        copies.apply(str(record.topic), plain_key(record.key), op, after)
