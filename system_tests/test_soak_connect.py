"""A worker of Connect and a node of MirrorMaker do the same again and again: nothing of it stays in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkapy.testing.cluster import KafkaCluster
from system_tests.conftest import Note
from system_tests.counted_process import RESIDENT
from system_tests.soak_connect import (
    CONNECT_KINDS,
    TOPIC,
    ConnectSoak,
    Growth,
    Operation,
    all_but_rebalances,
    growth,
    leaks,
)
from system_tests.soak_mirror import CONFIG, FOR_EACH_TOPIC, MirrorSoak

KB = 1024
MAX_KB = 64
"""Memory of an operation, most of which is used again. A connector that stays has more."""


@pytest.fixture(scope="module")
def soak(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectSoak]:
    with KafkaCluster(1, f"{TOPIC}:2") as cluster:
        made = ConnectSoak(tmp_path_factory.mktemp("soak-connect"), cluster.bootstrap_servers)
        yield made
        made.close()


def _judge(grown: Growth, allowed: int, note: Note) -> None:
    """Fails if there are `allowed` more objects of a type after each round."""
    note("KB", [each // KB for each in grown[RESIDENT]])
    assert leaks(grown, allowed) == {}


@pytest.mark.timeout(600)
def test_a_worker_forgets(soak: ConnectSoak, note: Note) -> None:
    """A few of all operations; the long form has many of each kind."""
    _judge(soak.growth(all_but_rebalances, 2), 2, note)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", CONNECT_KINDS, ids=lambda kind: kind.__name__)
def test_a_worker_forgets_each(soak: ConnectSoak, kind: Operation, note: Note, soak_operations: int) -> None:
    count = max(10, soak_operations // 10)
    grown = soak.growth(kind, count)
    _judge(grown, max(10, count // 5), note)
    assert min(grown[RESIDENT]) < count * MAX_KB * KB


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_mirror_forgets_topics(tmp_path: Path, note: Note, soak_operations: int) -> None:
    count = max(10, soak_operations // 10)
    with KafkaCluster(1, (), CONFIG) as source, KafkaCluster(1, (), CONFIG) as target:
        soak = MirrorSoak(tmp_path, source, target)
        try:
            grown = growth(soak.node, lambda: soak.topics(count))
        finally:
            soak.close()
    _judge({name: each for name, each in grown.items() if name not in FOR_EACH_TOPIC}, count, note)
