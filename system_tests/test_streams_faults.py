"""A Streams application with exactly_once_v2 while its instances and its brokers fail: its results are the truth."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from system_tests.clients import create_topic
from system_tests.cluster import Cluster
from system_tests.conftest import NewCluster, Note, Progress
from system_tests.services import wait_until
from system_tests.streams_application import APPLICATION, INPUTS, OUTPUTS
from system_tests.streams_instances import PARTITIONS, Feeder, Instance, Reader, Stores, instances
from system_tests.streams_truth import Truth, differences

INSTANCES = 3
SHORT = ["kill", "pause", "lose_state", "move_coordinator"]
_OFFSETS_PARTITIONS = 5


def kill(cluster: Cluster, instance: Instance, chance: random.Random) -> None:
    instance.kill()
    time.sleep(chance.choice((0, 0, 2)))
    instance.keep_alive()


def stop(cluster: Cluster, instance: Instance, chance: random.Random) -> None:
    instance.keep_alive()
    instance.stop()
    instance.keep_alive()


def pause(cluster: Cluster, instance: Instance, chance: random.Random) -> None:
    """Shorter or longer than the session, and than a transaction may last."""
    instance.pause(chance.choice((1, 3, 8, 12)))


def lose_state(cluster: Cluster, instance: Instance, chance: random.Random) -> None:
    instance.lose_state()
    instance.keep_alive()


def bounce_broker(cluster: Cluster, instance: Instance, chance: random.Random) -> None:
    chance.choice(cluster.brokers).clean_bounce()


def kill_broker(cluster: Cluster, instance: Instance, chance: random.Random) -> None:
    cluster.wait_until_healthy()
    chance.choice(cluster.brokers).hard_bounce()


def move_coordinator(cluster: Cluster, instance: Instance, chance: random.Random) -> None:
    """Of the group, or of a transaction."""
    topic, number = chance.choice(
        (
            ("__consumer_offsets", _group_partition(APPLICATION)),
            ("__transaction_state", chance.randrange(_OFFSETS_PARTITIONS)),
        )
    )
    cluster.brokers[cluster.leader(topic, number)].clean_bounce()


FAULTS: dict[str, Callable[[Cluster, Instance, random.Random], None]] = {
    "kill": kill,
    "stop": stop,
    "pause": pause,
    "lose_state": lose_state,
    "bounce_broker": bounce_broker,
    "kill_broker": kill_broker,
    "move_coordinator": move_coordinator,
}


def _group_partition(group: str) -> int:
    hashed = 0
    for letter in group:
        hashed = (31 * hashed + ord(letter)) & 0xFFFFFFFF
    return (hashed & 0x7FFFFFFF) % _OFFSETS_PARTITIONS


def sequence(chance: random.Random, count: int) -> list[str]:
    """So many faults; each kind comes before one comes again."""
    found: list[str] = []
    while len(found) < count:
        found += chance.sample(sorted(FAULTS), len(FAULTS))
    return found[:count]


def wait_for_results(truth: Truth, reader: Reader, fleet: list[Instance], seconds: float) -> float:
    def is_right() -> bool:
        for instance in fleet:
            instance.keep_alive()
        return not differences(reader.found, truth.expected)

    return wait_until(is_right, seconds, lambda: f"right: {differences(reader.found, truth.expected)[:10]}")


def diverging(fleet: list[Instance]) -> list[str]:
    """Stores whose copies are not what their tasks have; tasks that are missing."""
    for instance in fleet:
        instance.ask_for_stores()
    end = time.monotonic() + 10
    while time.monotonic() < end and not all(any(instance.stores().values()) for instance in fleet):
        time.sleep(0.1)
    found = [instance.stores() for instance in fleet]
    active: Stores = {task: stores for one in found for task, stores in one["active"].items()}
    copies = [(task, stores) for one in found for task, stores in one["copy"].items()]
    missing = [f"no task {sub}_{n}" for sub in range(3) for n in range(PARTITIONS) if f"{sub}_{n}" not in active]
    without = [f"no copy of {task}" for task in active if task not in dict(copies)]
    return (
        missing
        + without
        + [
            f"{task} {name}: {len(content)} entries in the copy, {len(active[task][name])} in the task"
            for task, stores in copies
            for name, content in stores.items()
            if task in active and content != active[task][name]
        ]
    )


@pytest.mark.timeout(3600)
def test_results_are_the_truth(
    new_cluster: NewCluster,
    tmp_path: Path,
    pytestconfig: pytest.Config,
    short: bool,
    note: Note,
    progress: Progress,
) -> None:
    seed = pytestconfig.getoption("--seed")
    chance = random.Random(f"faults {seed}")
    faults = SHORT if short else sequence(chance, pytestconfig.getoption("--faults"))
    transactions = {"transaction.state.log.num.partitions": _OFFSETS_PARTITIONS}
    cluster = new_cluster(brokers=3, configs=transactions).start()
    for topic in (*INPUTS, *OUTPUTS):
        create_topic(cluster.bootstrap, topic, partitions=PARTITIONS, replication=3)
    done: Counter[str] = Counter()
    (tmp_path / "instances").mkdir()
    with instances(cluster.bootstrap, tmp_path / "instances", INSTANCES) as fleet, Reader(cluster.bootstrap) as reader:
        with Feeder(cluster.bootstrap, seed) as feeder:
            wait_until(lambda: reader.count > 0, 60, "the application writes")
            for number, name in enumerate(faults):
                progress(f"{number + 1}/{len(faults)} {name}, {reader.count:,} results")
                FAULTS[name](cluster, chance.choice(fleet), chance)
                done[name] += 1
                time.sleep(chance.uniform(0.5, 3))
            written = reader.count
        seconds = wait_for_results(feeder.truth, reader, fleet, 180)
        wait_until(lambda: not diverging(fleet), 120, lambda: f"copies are as their tasks: {diverging(fleet)}")
        note("faults", ", ".join(f"{count} {name}" for name, count in sorted(done.items())))
        note("records", f"{feeder.count:,} in, {reader.count:,} out ({written:,} while faults went on)")
        note("all results", f"after {seconds:.1f} s")
        ended = {instance.output.name: instance.ended for instance in fleet if instance.ended}
    assert not ended, "instances have ended by themselves"
