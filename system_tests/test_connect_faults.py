"""Whole pipelines of Connect, with exactly-once support, while workers, brokers and servers fail: the ends are equal."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from system_tests.conftest import Note, Progress
from system_tests.connect_faults import FAULTS, ConnectWorld, sequence
from system_tests.connect_pipelines import Feeders
from system_tests.services import wait_until

SHORT = ["kill_worker", "pause_worker", "kill_broker", "kill_database", "restart_objects"]
PERMANENT = "No space left on device"
"""In traces of tasks that may have failed, since a restart heals them. All others must heal by themselves."""


def wait_for_ends(world: ConnectWorld) -> float:
    """Wait until the ends are equal, and all connectors run; returns the seconds."""
    found: list[str] = ["not compared"]

    def are_equal() -> bool:
        time.sleep(1)
        found[:] = world.group.not_running(world.connectors) or world.differences()
        return not found

    return wait_until(are_equal, 60, lambda: f"the ends are equal: {found[:10]}")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ConnectWorld]:
    for package in ("psycopg2", "moto.server", "boto3", "s3fs", "pyarrow"):
        pytest.importorskip(package)
    with ExitStack() as ending:
        yield ConnectWorld(tmp_path, ending)


@pytest.mark.timeout(3600)
def test_the_ends_are_equal(
    world: ConnectWorld, pytestconfig: pytest.Config, short: bool, note: Note, progress: Progress
) -> None:
    chance = random.Random(f"connect {pytestconfig.getoption('--seed')}")
    faults = SHORT if short else sequence(chance, pytestconfig.getoption("--faults"))
    done: Counter[str] = Counter()
    ended: list[str] = []
    failed: dict[bool, list[str]] = {True: [], False: []}
    wait_until(lambda: not world.group.not_running(world.connectors), 60, "all connectors run")
    with Feeders(world.pipelines):
        for number, name in enumerate(faults):
            progress(f"{number + 1}/{len(faults)} {name}")
            FAULTS[name](world, chance)
            done[name] += 1
            time.sleep(chance.uniform(0.5, 3))
            ended += world.group.keep_alive()
            for failure in world.group.restart_failed():
                progress(f"    failed: {' '.join(line for line in failure.splitlines() if 'Caused by' in line)}")
                failed[PERMANENT in failure].append(f"after {name}: {failure}")
    seconds = wait_for_ends(world)
    note("faults", ", ".join(f"{count} {name}" for name, count in sorted(done.items())))
    note("moved", ", ".join(pipeline.describe() for pipeline in world.pipelines))
    note("equal", f"after {seconds:.1f} s")
    assert not ended, "workers have ended by themselves"
    note("restarted", f"{len(failed[True])} connectors and tasks after permanent faults")
    assert not failed[False], "\n".join(["connectors or tasks have failed:", *failed[False]])
