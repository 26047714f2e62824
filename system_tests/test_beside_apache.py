"""Random requests, good and bad, in all versions: kafkapy answers as Apache Kafka does.

Both brokers are asked the same, one request after the other, so that what they know is the same too. What each may name
as it likes (ids of members, topics and producers, times of now) is made neutral before the answers are compared; the few
differences that are known are left out where the requests are drawn, with the reason. A seed repeats its requests.

Needs the jars of Apache Kafka 3.9.1: their directory in $KAFKAPY_APACHE_JARS.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from system_tests.beside_apache.duel import Duel
from system_tests.beside_apache.operations import (
    OPERATIONS,
    OPERATIONS_OF_GROUPS,
    OPERATIONS_OF_TRANSACTIONS,
    Operation,
)
from system_tests.beside_apache.side import Side
from system_tests.conftest import Note, Progress
from system_tests.services import ApacheKafkaService, KafkaService, Service, ZooKeeperService

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

STEPS = 1000
CONFIGS = {
    "auto.create.topics.enable": "true",
    "offsets.topic.num.partitions": 3,
    "transaction.state.log.num.partitions": 3,
    "group.initial.rebalance.delay.ms": 0,
    "log.retention.ms": -1,
    "log.cleaner.dedupe.buffer.size": 8 << 20,  # Apache allocates it anew when the cleaner's configs change
}
_SHOWN = 10
_SEEDS_OF_TRANSACTIONS = range(1, 25)
"""Seed 25 draws a transaction that both brokers prepare to abort for ever; there is nothing to compare after that."""


@pytest.mark.parametrize(
    ("operations", "seed"),
    [pytest.param(OPERATIONS, seed, id=f"all-{seed}") for seed in (1, 2, 3, 4, 5)]
    + [pytest.param(OPERATIONS_OF_GROUPS, seed, id=f"groups-{seed}") for seed in (1, 2, 3)]
    + [pytest.param(OPERATIONS_OF_TRANSACTIONS, seed, id=f"transactions-{seed}") for seed in _SEEDS_OF_TRANSACTIONS],
)
def test_same_answers(
    operations: Mapping[Operation, int],
    seed: int,
    tmp_path: Path,
    zookeeper: ZooKeeperService,
    services: list[Service],
    apache_jars: Path,
    note: Note,
    progress: Progress,
) -> None:
    name = f"/beside-{tmp_path.name}-{seed}"
    theirs = ApacheKafkaService(tmp_path / "apache", zookeeper, apache_jars, CONFIGS, chroot=f"{name}-apache")
    ours = KafkaService(tmp_path / "kafkapy", zookeeper, CONFIGS, chroot=f"{name}-kafkapy")
    services.extend([theirs, ours])
    for service in (theirs, ours):
        service.start()

    duel = Duel(Side(theirs.name, theirs.port), Side(ours.name, ours.port), seed, operations)
    try:
        duel.prepare()
        for number in range(STEPS):
            duel.step(number)
            if number % 100 == 99:
                progress(f"{number + 1} steps, {len(duel.differences)} differences")
    finally:
        duel.close()
    note("answers", duel.compared)
    found = len(duel.differences)
    assert not found, "\n\n".join([f"{found} differences (theirs above, ours below)", *duel.differences[:_SHOWN]])
