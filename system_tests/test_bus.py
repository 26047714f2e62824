"""Handlers of a dispatcher that raise and are killed: no event is lost, none is committed before it was handled, and keys keep
their order."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path

import pytest

from kafkapy import KafkaConsumer
from kafkapy.bus import Bus
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import KafkaError
from system_tests.bus_handler import TOPIC, Step
from system_tests.clients import create_topic
from system_tests.conftest import NewBroker, Note, Progress
from system_tests.services import TIME_LIMIT_FACTOR, KafkaService, wait_until
from system_tests.test_faults import make_room, small_disk
from tests.schemas.registry_server import running_registry

PARTITIONS = 4
KEYS = 40
PROCESSES = 3
GROUP = "walkers"


class Load(threading.Thread):
    """Sends steps of 40 walkers until it is told to stop."""

    def __init__(self, bootstrap: str, registry: str) -> None:
        super().__init__(daemon=True)
        self.bus = Bus(bootstrap, registry, application="walk", auto_register=True)
        self.sent: dict[str, int] = defaultdict(int)
        self.failure: BaseException | None = None
        self.stopping = threading.Event()

    def run(self) -> None:
        try:
            while not self.stopping.is_set():
                steps = []
                for walker in range(KEYS):
                    name = f"w{walker}"
                    steps.append(Step(who=name, number=self.sent[name]))
                    self.sent[name] += 1
                self.bus.send_many(steps)
                time.sleep(0.05)
            self.bus.close()
        except BaseException as error:
            self.failure = error


def handled(path: Path) -> list[tuple[int, int, str, int]]:
    """The whole lines; a process that is killed may leave a part of one."""
    found = []
    for line in path.read_text().splitlines(keepends=True):
        parts = line.split()
        if line.endswith("\n") and len(parts) == 4:
            found.append((int(parts[0]), int(parts[1]), parts[2], int(parts[3])))
    return found


@pytest.mark.timeout(900)
def test_handlers_are_killed_under_load(
    broker: KafkaService, tmp_path: Path, kills: int, short: bool, note: Note, progress: Progress
) -> None:
    kills = kills if short else max(kills, 50)
    create_topic(broker.bootstrap, TOPIC, PARTITIONS)
    path = tmp_path / "handled"
    path.touch()
    with running_registry() as registry:
        load = Load(broker.bootstrap, registry.url)
        load.start()
        command = [sys.executable, "-m", "system_tests.bus_handler", broker.bootstrap, registry.url, GROUP, str(path)]
        processes = [subprocess.Popen(command) for _ in range(PROCESSES)]
        chance = random.Random(3)
        try:
            for kill in range(1, kills + 1):
                before = path.stat().st_size
                deadline = time.monotonic() + TIME_LIMIT_FACTOR * 60
                while path.stat().st_size < before + 500 and time.monotonic() < deadline:
                    time.sleep(0.02)
                time.sleep(chance.random())
                victim = chance.randrange(PROCESSES)
                processes[victim].kill()
                processes[victim].wait()
                check_commits(broker.bootstrap, path)
                processes[victim] = subprocess.Popen(command)
                progress(f"kill {kill} of {kills}: {sum(load.sent.values()):,} events sent")
            load.stopping.set()
            load.join(TIME_LIMIT_FACTOR * 60)
            assert load.failure is None, load.failure
            wait_for_all(path, load.sent)
            check_commits(broker.bootstrap, path)
        finally:
            for process in processes:
                process.kill()
                process.wait()
    found = handled(path)
    check_order(found)
    note("kills", kills)
    note("events", f"{sum(load.sent.values()):,}")
    note("handled more than once", f"{len(found) - len(set(found)):,}")


@pytest.mark.long
def test_the_disk_is_full(new_broker: NewBroker, tmp_path: Path, note: Note) -> None:
    """Whoever sends hears it, in a sentence that names the cause; with room again the same bus and the same dispatcher go on, and
    every event that was acknowledged is handled."""
    small, path = tmp_path / "small", tmp_path / "handled"
    path.touch()
    with small_disk(small, 16), running_registry() as registry:
        broker = new_broker({"log.dirs": small / "data"})
        broker.start()
        create_topic(broker.bootstrap, TOPIC, PARTITIONS)
        command = [sys.executable, "-m", "system_tests.bus_handler", broker.bootstrap, registry.url, GROUP, str(path)]
        handler = subprocess.Popen(command)
        times = {"request_timeout_ms": 1_000, "delivery_timeout_ms": 3_000, "linger_ms": 0}
        bus = Bus(broker.bootstrap, registry.url, application="walk", auto_register=True, audit=False, **times)
        try:
            sent: dict[str, int] = {}
            name = ""
            with pytest.raises(KafkaError) as failed:
                for number in range(10_000):
                    name = f"w{number}-" + "x" * 5_000
                    bus.send(Step(who=name, number=0))
                    sent[name] = 1
            assert re.search("ms has passed.*the last attempt has failed with|KafkaStorageError", str(failed.value))
            wait_until(lambda: not broker.is_running, 30, "the broker ends")
            assert "No space left on device" in broker.text()
            broker.close()

            make_room(small, 64)
            broker.start()
            bus.send(Step(who=name, number=0))
            wait_for_all(path, sent | {name: 1})
            check_commits(broker.bootstrap, path)
        finally:
            handler.kill()
            handler.wait()
            bus.close()
            broker.close()
    note("events until full", f"{len(sent):,}")
    note("the sentence", failed.value)


def check_commits(bootstrap: str, path: Path) -> None:
    """What is committed was handled: the offsets are read first."""
    with KafkaConsumer(bootstrap_servers=bootstrap, group_id=GROUP, enable_auto_commit=False) as consumer:
        committed = {n: consumer.committed(TopicPartition(TOPIC, n)) or 0 for n in range(PARTITIONS)}
    done = {(partition, offset) for partition, offset, _, _ in handled(path)}
    for partition, end in committed.items():
        missing = [offset for offset in range(end) if (partition, offset) not in done]
        assert not missing, f"partition {partition} is committed up to {end}, but {missing[:5]} were not handled"


def wait_for_all(path: Path, sent: dict[str, int]) -> None:
    deadline = time.monotonic() + TIME_LIMIT_FACTOR * 120
    while True:
        done = {(who, number) for _, _, who, number in handled(path)}
        missing = [(who, number) for who, count in sent.items() for number in range(count) if (who, number) not in done]
        if not missing:
            return
        assert time.monotonic() < deadline, f"{len(missing)} events were never handled, such as {missing[:5]}"
        time.sleep(0.2)


def check_order(found: list[tuple[int, int, str, int]]) -> None:
    """An event comes after all before it of its key were handled; what is handled again is no later event."""
    seen: dict[str, int] = defaultdict(lambda: -1)
    for _, _, who, number in found:
        assert number <= seen[who] + 1, f"{who}: {number} was handled, and {seen[who] + 1} was not yet"
        seen[who] = max(seen[who], number)
