"""Workers of Connect, brokers and servers with pipelines through them, and the faults that can be done to them."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from system_tests.clients import create_topic
from system_tests.cluster import Cluster
from system_tests.connect_files import FilesToTable
from system_tests.connect_pipelines import TARGET, Pipeline, execute
from system_tests.connect_tables import ChangesToTable, TableToObjects
from system_tests.connect_workers import SESSION_SECONDS, ConnectGroup
from system_tests.object_server import ObjectServer
from system_tests.small_disk import SmallDisk
from tests.databases.postgresql import PostgresqlServer

BROKERS, WORKERS = 2, 2
"""How many there are of each."""
_DISK_MEGABYTES = 64

ConnectFault = Callable[["ConnectWorld", random.Random], None]


class ConnectWorld:
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


def kill_worker(world: ConnectWorld, chance: random.Random) -> None:
    worker = chance.choice(world.group.workers)
    worker.hard_kill()
    time.sleep(chance.choice((0, 0, SESSION_SECONDS + 4)))
    worker.start()


def kill_workers(world: ConnectWorld, chance: random.Random) -> None:
    for worker in world.group.workers:
        worker.hard_kill()
    world.group.start()


def stop_worker(world: ConnectWorld, chance: random.Random) -> None:
    chance.choice(world.group.workers).clean_bounce()


def pause_worker(world: ConnectWorld, chance: random.Random) -> None:
    """Shorter or longer than its session."""
    with chance.choice(world.group.workers).paused():
        time.sleep(chance.choice((1, SESSION_SECONDS / 2, 2 * SESSION_SECONDS)))


def bounce_broker(world: ConnectWorld, chance: random.Random) -> None:
    world.cluster.wait_until_healthy()
    chance.choice(world.cluster.brokers).clean_bounce()


def kill_broker(world: ConnectWorld, chance: random.Random) -> None:
    world.cluster.wait_until_healthy()
    chance.choice(world.cluster.brokers).hard_bounce()


def pause_broker(world: ConnectWorld, chance: random.Random) -> None:
    world.cluster.wait_until_healthy()
    with chance.choice(world.cluster.brokers).paused():
        time.sleep(chance.choice((1, 4, SESSION_SECONDS + 2)))


def cut_connections(world: ConnectWorld, chance: random.Random) -> None:
    """Those of clients with a broker, again and again; some end within a response."""
    line = chance.choice(world.cluster.lines).clients
    for _ in range(chance.randint(1, 8)):
        line.cut()
        line.cut_after(chance.randint(1, 5000))
        time.sleep(0.3)
    line.cut()


def restart_database(world: ConnectWorld, chance: random.Random) -> None:
    world.database.stop()
    time.sleep(chance.choice((0, 3)))
    world.database.start()


def kill_database(world: ConnectWorld, chance: random.Random) -> None:
    world.database.kill()
    time.sleep(chance.choice((0, 3)))
    world.database.start()


def restart_objects(world: ConnectWorld, chance: random.Random) -> None:
    world.objects.stop()
    time.sleep(chance.choice((1, 4)))
    world.objects.start()


def fill_disk(world: ConnectWorld, chance: random.Random) -> None:
    """The disk for files, and for objects before their upload."""
    world.disk.fill()
    time.sleep(chance.choice((1, 5)))
    world.disk.empty()


def restart_connector(world: ConnectWorld, chance: random.Random) -> None:
    name, tasks = chance.choice(sorted(world.connectors)), chance.random() < 0.7
    world.group.ask(lambda client: client.restart(name, tasks=tasks))


def restart_task(world: ConnectWorld, chance: random.Random) -> None:
    name = chance.choice(sorted(world.connectors))
    world.group.ask(lambda client: client.restart_task(name, 0))


def pause_connector(world: ConnectWorld, chance: random.Random) -> None:
    """Or stop it, so that it has no tasks."""
    name, action = chance.choice(sorted(world.connectors)), chance.choice(("pause", "stop"))
    world.group.ask(lambda client: client.change_state(name, action))
    time.sleep(chance.choice((0, 2)))
    world.group.ask(lambda client: client.change_state(name, "resume"))


def change_config(world: ConnectWorld, chance: random.Random) -> None:
    """The number of tasks, where there can be several; else all tasks are made again by a config without a meaning."""
    name = chance.choice(sorted(world.connectors))
    config = world.connectors[name]
    if "tasks.max" in config:
        config["tasks.max"] = "1" if config["tasks.max"] == "2" else "2"
    config["errors.retry.delay.max.ms"] = str(chance.randint(1000, 60000))
    world.group.configure({name: config})


def recreate_connector(world: ConnectWorld, chance: random.Random) -> None:
    """Its offsets remain."""
    name = chance.choice(sorted(world.connectors))
    world.group.ask(lambda client: client.delete(name) if name in client.connectors() else None)
    time.sleep(chance.choice((0, 2)))
    world.group.configure({name: world.connectors[name]})


def two_at_once(world: ConnectWorld, chance: random.Random) -> None:
    """Two of those that befall processes, the second while the first lasts."""
    kinds: list[ConnectFault] = [
        chance.choice((kill_worker, pause_worker)),
        chance.choice((kill_broker, bounce_broker)),
        kill_database,
    ]
    with ThreadPoolExecutor() as pool:
        running = []
        for fault in chance.sample(kinds, 2):
            running.append(pool.submit(fault, world, random.Random(chance.random())))
            time.sleep(chance.uniform(0, 2))
        for one in running:
            one.result()


FAULTS: dict[str, ConnectFault] = {
    each.__name__: each
    for each in (
        kill_worker,
        kill_workers,
        stop_worker,
        pause_worker,
        bounce_broker,
        kill_broker,
        pause_broker,
        cut_connections,
        restart_database,
        kill_database,
        restart_objects,
        fill_disk,
        restart_connector,
        restart_task,
        pause_connector,
        change_config,
        recreate_connector,
        two_at_once,
    )
}


def sequence(chance: random.Random, count: int) -> list[str]:
    """So many faults; each kind comes before one comes again."""
    found: list[str] = []
    while len(found) < count:
        found += chance.sample(sorted(FAULTS), len(FAULTS))
    return found[:count]
