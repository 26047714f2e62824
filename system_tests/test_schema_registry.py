"""Several instances of the schema registry under a load of registrations, whose primary is killed again and again: no id is given
out twice, and nothing that was acknowledged is lost."""

from __future__ import annotations

import json
import random
import threading
import time
from pathlib import Path

import pytest

from system_tests.conftest import Note, Progress
from system_tests.http_services import SchemaRegistryProcess, ask
from system_tests.services import KafkaService, Service, wait_until

INSTANCES = 3
WRITERS = 4


class Writer(threading.Thread):
    """Registers one schema after the other, at whichever instance answers; `registered` has what was acknowledged."""

    def __init__(self, number: int, instances: list[SchemaRegistryProcess]) -> None:
        super().__init__(daemon=True)
        self.number = number
        self.instances = instances
        self.registered: dict[str, int] = {}
        self.refused = 0
        self.stopping = threading.Event()

    def run(self) -> None:
        chance = random.Random(self.number)
        attempt = 0
        while not self.stopping.is_set():
            subject = f"w{self.number}-{attempt}"
            where = chance.choice(self.instances).url
            try:
                status, answer = ask(f"{where}/subjects/{subject}/versions", {"schema": schema(subject)}, timeout=20)
            except OSError:
                time.sleep(0.05)
                continue
            if status == 200:
                self.registered[subject] = answer["id"]
                attempt += 1
            else:
                assert status >= 500, answer
                self.refused += 1
                time.sleep(0.05)


def schema(subject: str) -> str:
    return json.dumps({"type": "record", "name": f"R{subject.replace('-', '_')}", "fields": []})


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_primary_is_killed_under_load(
    broker: KafkaService,
    tmp_path: Path,
    services: list[Service],
    kills: int,
    short: bool,
    note: Note,
    progress: Progress,
) -> None:
    kills = kills if short else max(kills, 10)
    instances = [SchemaRegistryProcess(tmp_path / f"registry-{n}", broker) for n in range(INSTANCES)]
    services += instances
    for instance in instances:
        instance.start()
    writers = [Writer(number, instances) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    longest = 0.0
    for kill in range(1, kills + 1):
        wait_until(lambda: any(each.is_primary for each in instances), 60, "there is a primary")
        primary = next(each for each in instances if each.is_primary)
        before = count(writers)
        wait_until(lambda before=before: count(writers) > before + 20, 60, "schemas are registered")  # type: ignore[misc]
        primary.hard_kill()
        waited = wait_until(lambda: any(each.is_primary for each in instances), 60, "another takes over")
        longest = max(longest, waited)
        primary.start()
        progress(f"kill {kill} of {kills}: {count(writers):,} schemas")
    for writer in writers:
        writer.stopping.set()
        writer.join(60)
    registered = {subject: found for writer in writers for subject, found in writer.registered.items()}
    assert len(set(registered.values())) == len(registered), "an id stands for two schemas"
    for instance in instances:
        check(instance, registered)
    note("kills", kills)
    note("schemas", f"{len(registered):,}")
    note("longest without a primary", f"{longest:.1f} s")


def count(writers: list[Writer]) -> int:
    return sum(len(writer.registered) for writer in writers)


def check(instance: SchemaRegistryProcess, registered: dict[str, int]) -> None:
    """All that was acknowledged is there, under its id; and no id stands for two schemas, acknowledged or not."""
    _, everything = ask(f"{instance.url}/schemas")
    found = {each["subject"]: each["id"] for each in everything}
    missing = {subject: number for subject, number in registered.items() if found.get(subject) != number}
    assert not missing, f"{instance.url}: {missing}"
    assert len(set(found.values())) == len(found)
