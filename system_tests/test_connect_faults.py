"""Whole pipelines of Connect, with exactly-once support, while workers, brokers and servers fail: the ends are equal."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from system_tests.clients import create_topic
from system_tests.cluster import Cluster
from system_tests.conftest import Note, Progress
from system_tests.connect_files import FilesToTable
from system_tests.connect_pipelines import TARGET, Feeders, Pipeline, execute
from system_tests.connect_tables import ChangesToTable, TableToObjects
from system_tests.connect_workers import SESSION_SECONDS, ConnectGroup
from system_tests.object_server import ObjectServer
from system_tests.services import wait_until
from system_tests.small_disk import SmallDisk
from tests.databases.postgresql import PostgresqlServer

BROKERS, WORKERS = 2, 2
_DISK_MEGABYTES = 64
SHORT = ["kill_worker", "pause_worker", "kill_broker", "kill_database", "restart_objects"]

PERMANENT = "No space left on device"
"""In traces of tasks that may have failed, since a restart heals them. All others must heal by themselves."""

Fault = Callable[["World", random.Random], None]


class World:
    """Brokers, workers, a database, and the pipelines through them."""

    def __init__(self, directory: Path, ending: ExitStack) -> None:
        self.cluster = ending.enter_context(Cluster(directory / "cluster", BROKERS)).start()
        self.database = ending.enter_context(PostgresqlServer.private())
        execute(self.database, f"CREATE DATABASE {TARGET}")
        bootstrap = self.cluster.bootstrap
        self.disk = SmallDisk(directory / "disk", _DISK_MEGABYTES)
        ending.callback(self.disk.close)
        self.objects = ending.enter_context(ObjectServer("objects"))
        self.pipelines: list[Pipeline] = [
            FilesToTable(bootstrap, directory / "files", self.database, self.disk.path),
            TableToObjects(bootstrap, self.database, self.objects, self.disk.path),
            ChangesToTable(bootstrap, self.database),
        ]
        for pipeline in self.pipelines:
            pipeline.prepare()
            for topic, partitions in pipeline.topics.items():
                create_topic(bootstrap, topic, partitions, replication=BROKERS)
        self.connectors = {name: config for pipeline in self.pipelines for name, config in pipeline.connectors.items()}
        self.group = ConnectGroup(directory / "workers", bootstrap, WORKERS, BROKERS)
        ending.callback(self.group.close)
        self.group.start()
        self.group.configure(self.connectors)

    def differences(self) -> list[str]:
        return [each for pipeline in self.pipelines for each in pipeline.differences()]


def kill_worker(world: World, chance: random.Random) -> None:
    worker = chance.choice(world.group.workers)
    worker.hard_kill()
    time.sleep(chance.choice((0, 0, SESSION_SECONDS + 4)))
    worker.start()


def stop_worker(world: World, chance: random.Random) -> None:
    chance.choice(world.group.workers).clean_bounce()


def pause_worker(world: World, chance: random.Random) -> None:
    """Shorter or longer than its session."""
    with chance.choice(world.group.workers).paused():
        time.sleep(chance.choice((1, SESSION_SECONDS / 2, 2 * SESSION_SECONDS)))


def bounce_broker(world: World, chance: random.Random) -> None:
    world.cluster.wait_until_healthy()
    chance.choice(world.cluster.brokers).clean_bounce()


def kill_broker(world: World, chance: random.Random) -> None:
    world.cluster.wait_until_healthy()
    chance.choice(world.cluster.brokers).hard_bounce()


def restart_database(world: World, chance: random.Random) -> None:
    world.database.stop()
    time.sleep(chance.choice((0, 3)))
    world.database.start()


def kill_database(world: World, chance: random.Random) -> None:
    world.database.kill()
    time.sleep(chance.choice((0, 3)))
    world.database.start()


def restart_objects(world: World, chance: random.Random) -> None:
    world.objects.stop()
    time.sleep(chance.choice((1, 4)))
    world.objects.start()


def fill_disk(world: World, chance: random.Random) -> None:
    """The disk for files, and for objects before their upload."""
    world.disk.fill()
    time.sleep(chance.choice((1, 5)))
    world.disk.empty()


def restart_connector(world: World, chance: random.Random) -> None:
    name, tasks = chance.choice(sorted(world.connectors)), chance.random() < 0.7
    world.group.ask(lambda client: client.restart(name, tasks=tasks))


def restart_task(world: World, chance: random.Random) -> None:
    name = chance.choice(sorted(world.connectors))
    world.group.ask(lambda client: client.restart_task(name, 0))


def pause_connector(world: World, chance: random.Random) -> None:
    """Or stop it, so that it has no tasks."""
    name, action = chance.choice(sorted(world.connectors)), chance.choice(("pause", "stop"))
    world.group.ask(lambda client: client.change_state(name, action))
    time.sleep(chance.choice((0, 2)))
    world.group.ask(lambda client: client.change_state(name, "resume"))


def change_config(world: World, chance: random.Random) -> None:
    """The number of tasks, where there can be several; else all tasks are made again by a config without a meaning."""
    name = chance.choice(sorted(world.connectors))
    config = world.connectors[name]
    if "tasks.max" in config:
        config["tasks.max"] = "1" if config["tasks.max"] == "2" else "2"
    config["errors.retry.delay.max.ms"] = str(chance.randint(1000, 60000))
    world.group.configure({name: config})


FAULTS: dict[str, Fault] = {
    each.__name__: each
    for each in (
        kill_worker,
        stop_worker,
        pause_worker,
        bounce_broker,
        kill_broker,
        restart_database,
        kill_database,
        restart_objects,
        fill_disk,
        restart_connector,
        restart_task,
        pause_connector,
        change_config,
    )
}


def sequence(chance: random.Random, count: int) -> list[str]:
    """So many faults; each kind comes before one comes again."""
    found: list[str] = []
    while len(found) < count:
        found += chance.sample(sorted(FAULTS), len(FAULTS))
    return found[:count]


def wait_for_ends(world: World) -> float:
    """Wait until the ends are equal, and all connectors run; returns the seconds."""
    found: list[str] = ["not compared"]

    def are_equal() -> bool:
        time.sleep(1)
        found[:] = world.group.not_running(world.connectors) or world.differences()
        return not found

    return wait_until(are_equal, 60, lambda: f"the ends are equal: {found[:10]}")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    for package in ("psycopg2", "moto.server", "boto3", "s3fs", "pyarrow"):
        pytest.importorskip(package)
    with ExitStack() as ending:
        yield World(tmp_path, ending)


@pytest.mark.timeout(3600)
def test_the_ends_are_equal(
    world: World, pytestconfig: pytest.Config, short: bool, note: Note, progress: Progress
) -> None:
    chance = random.Random(f"connect {pytestconfig.getoption('--seed')}")
    faults = SHORT if short else sequence(chance, pytestconfig.getoption("--faults"))
    done: Counter[str] = Counter()
    ended: list[str] = []
    failed: dict[bool, list[str]] = {True: [], False: []}
    wait_until(lambda: not world.group.not_running(world.connectors), 60, "all connectors run")
    feeders = Feeders(world.pipelines)
    feeders.start()
    for number, name in enumerate(faults):
        progress(f"{number + 1}/{len(faults)} {name}")
        FAULTS[name](world, chance)
        done[name] += 1
        time.sleep(chance.uniform(0.5, 3))
        ended += world.group.keep_alive()
        for failure in world.group.restart_failed():
            progress(f"    failed: {failure}")
            failed[PERMANENT in failure].append(f"after {name}: {failure}")
    feeders.stop()
    seconds = wait_for_ends(world)
    note("faults", ", ".join(f"{count} {name}" for name, count in sorted(done.items())))
    note("moved", ", ".join(pipeline.describe() for pipeline in world.pipelines))
    note("equal", f"after {seconds:.1f} s")
    assert not ended, "workers have ended by themselves"
    note("restarted", f"{len(failed[True])} connectors and tasks after permanent faults")
    assert not failed[False], "\n".join(["connectors or tasks have failed:", *failed[False]])
