"""MirrorMaker both ways between two clusters, exactly once, while its nodes and the brokers fail."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kafkapy import KafkaConsumer, TopicPartition
from kafkapy.mirror import MirrorClient
from system_tests.clients import AckedProducer, create_topic, read_topic
from system_tests.cluster import Cluster
from system_tests.conftest import Note, Progress
from system_tests.mirror_nodes import MirrorNode
from system_tests.services import wait_until

TOPIC, PARTITIONS = "orders", 3
GROUP = "billing"
NODES = 2
SHORT = ["kill_node", "pause_node", "kill_broker"]

Fault = Callable[["World", random.Random], None]


class World:
    """Two clusters of one broker each, and nodes of MirrorMaker between them."""

    def __init__(self, directory: Path, ending: ExitStack) -> None:
        self.clusters = {alias: ending.enter_context(Cluster(directory / alias)) for alias in "AB"}
        for cluster in self.clusters.values():
            cluster.start()
            create_topic(cluster.bootstrap, TOPIC, partitions=PARTITIONS)
        bootstraps = {alias: cluster.bootstrap for alias, cluster in self.clusters.items()}
        self.nodes = [MirrorNode(directory / f"node-{number}", bootstraps, TOPIC) for number in range(NODES)]
        for node in self.nodes:
            ending.callback(node.close)
            node.start()

    def keep_alive(self) -> list[str]:
        """Start nodes that have ended; return their last words."""
        words = []
        for node in self.nodes:
            if not node.is_running:
                words.append(node.tail())
                node.close()
                node.start()
        return words


def kill_node(world: World, chance: random.Random) -> None:
    chance.choice(world.nodes).hard_bounce()


def stop_node(world: World, chance: random.Random) -> None:
    chance.choice(world.nodes).clean_bounce()


def pause_node(world: World, chance: random.Random) -> None:
    """Shorter or longer than its session."""
    with chance.choice(world.nodes).paused():
        time.sleep(chance.choice((1, 4, 12)))


def bounce_broker(world: World, chance: random.Random) -> None:
    world.clusters[chance.choice("AB")].brokers[0].clean_bounce()


def kill_broker(world: World, chance: random.Random) -> None:
    world.clusters[chance.choice("AB")].brokers[0].hard_bounce()


FAULTS: dict[str, Fault] = {
    "kill_node": kill_node,
    "stop_node": stop_node,
    "pause_node": pause_node,
    "bounce_broker": bounce_broker,
    "kill_broker": kill_broker,
}


def sequence(chance: random.Random, count: int) -> list[str]:
    """So many faults; each kind comes before one comes again."""
    found: list[str] = []
    while len(found) < count:
        found += chance.sample(sorted(FAULTS), len(FAULTS))
    return found[:count]


def numbers(cluster: Cluster, topic: str) -> list[list[int]]:
    """The committed records of each partition."""
    return [[record.number for record in records] for records in read_topic(cluster.bootstrap, topic, PARTITIONS)]


def missing(world: World) -> list[str]:
    """Where a copy is not what its source has."""
    found = []
    for source, target in ("AB", "BA"):
        have = numbers(world.clusters[target], f"{source}.{TOPIC}")
        for partition, expected in enumerate(numbers(world.clusters[source], TOPIC)):
            if have[partition] != expected:
                again = len(have[partition]) - len(set(have[partition]))
                found.append(
                    f"{source} to {target}, partition {partition}: {len(have[partition])} of {len(expected)}, {again} twice"
                )
    return found


def read_half(cluster: Cluster) -> dict[int, int]:
    """A group reads half of each partition and commits; return the partitions' next offsets."""
    ends: dict[int, int] = {}
    with KafkaConsumer(bootstrap_servers=cluster.bootstrap, group_id=GROUP, enable_auto_commit=False) as consumer:
        partitions = [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
        consumer.assign(partitions)
        for partition, end in consumer.end_offsets(partitions).items():
            ends[partition.partition] = end // 2
            consumer.seek(partition, end // 2)
        consumer.commit()
    return ends


def ahead(world: World, committed: dict[int, int]) -> dict[int, int]:
    """By how many records the translated offset of each partition is ahead of the group (negative: behind it)."""
    a, b = world.clusters["A"], world.clusters["B"]
    with MirrorClient({"bootstrap.servers": b.bootstrap}) as client:
        translated = client.remote_consumer_offsets(GROUP, "A", timeout_s=10)
    sources, copies = read_topic(a.bootstrap, TOPIC, PARTITIONS), read_topic(b.bootstrap, f"A.{TOPIC}", PARTITIONS)
    found = {}
    for partition, offset in translated.items():
        number = partition.partition
        read = sum(record.offset < committed[number] for record in sources[number])
        found[number] = sum(record.offset < offset.offset for record in copies[number]) - read
    return found


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ExitStack() as ending:
        yield World(tmp_path, ending)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_each_record_is_copied_once(world: World, pytestconfig: pytest.Config, note: Note, progress: Progress) -> None:
    chance = random.Random(f"mirror {pytestconfig.getoption('--seed')}")
    done: Counter[str] = Counter()
    ended: list[str] = []
    producers = [
        AckedProducer(cluster.bootstrap, TOPIC, PARTITIONS, records_per_second=200).start()
        for cluster in world.clusters.values()
    ]
    wait_until(lambda: any(numbers(world.clusters["B"], f"A.{TOPIC}")), 60, "A is copied to B")
    wait_until(lambda: any(numbers(world.clusters["A"], f"B.{TOPIC}")), 60, "B is copied to A")
    for number, name in enumerate(sequence(chance, pytestconfig.getoption("--faults"))):
        progress(f"{number + 1} {name}")
        ended += world.keep_alive()
        FAULTS[name](world, chance)
        done[name] += 1
        time.sleep(chance.uniform(0.5, 4))
    for producer in producers:
        producer.stop()

    def is_complete() -> bool:
        ended.extend(world.keep_alive())
        return not missing(world)

    seconds = wait_until(is_complete, 120, lambda: f"copied: {missing(world)}")
    committed = read_half(world.clusters["A"])

    def is_translated() -> bool:
        found = ahead(world, committed)
        assert all(by <= 0 for by in found.values()), found
        return len(found) == PARTITIONS

    wait_until(is_translated, 60, "the group's offsets are translated")
    note("faults", ", ".join(f"{count} {name}" for name, count in sorted(done.items())))
    note("records", f"{sum(producer.acknowledged for producer in producers):,}, all copied after {seconds:.1f} s")
    note("offsets", f"behind the group by {-min(ahead(world, committed).values())} at most")
    assert not ended, "nodes have ended by themselves"
