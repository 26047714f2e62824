"""kafkatest's `round_trip_fault_test`: what is sent comes back, while a broker is cut off or stands still, while the
clients are cut off, and on slow lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from system_tests.cluster import Cluster
from system_tests.conftest import NewCluster, Note
from system_tests.network import SIDES
from system_tests.workload import Workload

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]
RECORDS = 5000


@contextmanager
def _broker_partition(cluster: Cluster) -> Iterator[None]:
    """Broker 0 reaches nobody, and nobody reaches it."""
    cluster.network.partition(0, SIDES)
    try:
        yield
    finally:
        cluster.network.heal(0)


@contextmanager
def _broker_pause(cluster: Cluster) -> Iterator[None]:
    with cluster.brokers[0].paused():
        yield


@contextmanager
def _client_partition(cluster: Cluster) -> Iterator[None]:
    """Clients reach nobody for a minute, as kafkatest has it; brokers reach each other."""
    for number in range(len(cluster.brokers)):
        cluster.network.partition(number, ("clients",))
    try:
        time.sleep(60)
    finally:
        for number in range(len(cluster.brokers)):
            cluster.network.heal(number)
    yield


@contextmanager
def _latency(cluster: Cluster) -> Iterator[None]:
    """100 ms and 3 Mbit/s on all lines."""
    for number in range(len(cluster.brokers)):
        cluster.network.slow(number, kilobits=3000, delay=0.1)
    try:
        yield
    finally:
        for number in range(len(cluster.brokers)):
            cluster.network.heal(number)


@contextmanager
def _nothing(cluster: Cluster) -> Iterator[None]:
    yield


FAULTS: dict[str, Callable[[Cluster], object]] = {
    "round_trip_workload": _nothing,
    "round_trip_workload_with_broker_partition": _broker_partition,
    "produce_consume_with_broker_pause": _broker_pause,
    "produce_consume_with_client_partition": _client_partition,
    "produce_consume_with_latency": _latency,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_round_trip(new_cluster: NewCluster, fault: str, tmp_path: Path, note: Note) -> None:
    """The workload comes to its end while the fault lasts (or, with all clients cut off, after it)."""
    cluster = new_cluster(4).start()
    work = Workload(cluster.bootstrap, topics={"round_trip_topic": 3}, replication=3, records_per_second=500)
    try:
        work.start()
        time.sleep(2)
        with FAULTS[fault](cluster):  # type: ignore[attr-defined]
            note(f"{RECORDS:,} records after", f"{work.wait_for_progress(RECORDS, 180):.1f} s")
        verdict = work.judge(tmp_path)
    finally:
        work.abandon()
    note("healthy after", f"{cluster.wait_until_healthy():.1f} s")
    note("history", f"{verdict.acknowledged:,} acknowledged, {verdict.polled:,} polled, no anomaly")
