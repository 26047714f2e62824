"""A broker, and clients, do the same again and again: nothing of it stays in memory."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

from benchmarks.stalls.client import FrameClient
from kafkapy.testing.cluster import KafkaCluster
from system_tests.conftest import Note
from system_tests.services import ROOT
from system_tests.soak import CONFIG, KINDS, TOPIC, TRANSACTIONAL, Member, Operation, Soak

MEMBERS = 1000


@pytest.fixture(scope="module")
def soak() -> Iterator[Soak]:
    with KafkaCluster(1, f"{TOPIC}:2,{TRANSACTIONAL}:1", CONFIG) as cluster:
        yield Soak(cluster)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_broker_forgets(soak: Soak, kind: Operation, note: Note, short: bool, soak_operations: int) -> None:
    growth = soak.growth(kind, 40 if short else soak_operations)
    note("unreachable", sum(growth.unreachable.values()))
    complaints = list(growth.complaints())
    assert not complaints, "\n".join(complaints)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("face", ["blocking", "aio", "tx"])
def test_a_process_forgets_its_stopped_clients(soak: Soak, face: str, short: bool) -> None:
    count = 5 if short else 300
    command = [sys.executable, "-m", "system_tests.soak_clients", face, soak.bootstrap, TOPIC, str(count)]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    growth = {name: rounds for name, rounds in json.loads(output).items() if min(rounds) >= count}
    assert not growth


@pytest.mark.long
@pytest.mark.timeout(0)
def test_heartbeats_cost_no_memory(note: Note, soak_minutes: float) -> None:
    """1,000 members with sessions of 45 s that do nothing but heartbeat every 3 s."""
    with KafkaCluster() as cluster:
        broker = cluster.brokers[0]
        assert broker.process is not None
        process = psutil.Process(broker.process.pid)
        clients = [FrameClient(broker.port.port, client_id="soak") for _ in range(50)]
        members = [Member(clients[number % len(clients)], f"group-{number}") for number in range(MEMBERS)]
        _beat(members, 120)
        before = process.memory_info().rss
        _beat(members, soak_minutes * 60)
        growth = (process.memory_info().rss - before) / (soak_minutes * 60)
        note("bytes a second", f"{growth:.0f}")
        for client in clients:
            client.socket.close()
    assert growth < 1000


def _beat(members: list[Member], seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        for member in members:
            member.heartbeat()
        time.sleep(max(0.0, 3 - (time.monotonic() - began)))
