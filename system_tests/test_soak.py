"""A broker, and clients, do the same again and again: nothing of it stays in memory."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from kafkapy.testing.cluster import KafkaCluster
from system_tests.conftest import Note
from system_tests.http_services import RestProxyProcess, SchemaRegistryProcess, ask
from system_tests.secured_cluster import SecuredCluster
from system_tests.services import ROOT
from system_tests.soak import CONFIG, KINDS, TOPIC, TRANSACTIONAL, Growth, Member, Operation, Soak
from system_tests.soak_security import SECURED_CONFIG, SECURED_KINDS, SecuredOperation, SecuredSoak, all_kinds

MEMBERS = 1000


def _ask_registry(url: str, count: int) -> None:
    schema = json.dumps({"type": "record", "name": "Soak", "fields": [{"name": "number", "type": "long"}]})
    for _ in range(count):
        status, answer = ask(f"{url}/subjects/soak-value/versions", {"schema": schema})
        assert status == 200, answer
        assert ask(f"{url}/schemas/ids/{answer['id']}")[0] == 200
        assert ask(f"{url}/compatibility/subjects/soak-value/versions/latest", {"schema": schema})[0] == 200
        assert ask(f"{url}/subjects/soak-value/versions", {"schema": "no schema"})[0] == 422


def _ask_proxy(url: str, count: int) -> None:
    """Each tenth time with a consumer instance that comes and goes."""
    for number in range(count):
        assert ask(f"{url}/topics/{TOPIC}", {"records": [{"value": "dmFsdWU="}]})[0] == 200
        assert ask(f"{url}/topics")[0] == 200
        if number % 10 == 0:
            status, instance = ask(f"{url}/consumers/soak-proxy", {"format": "binary", "auto.offset.reset": "earliest"})
            assert status == 200, instance
            assert ask(f"{instance['base_uri']}/subscription", {"topics": [TOPIC]})[0] == 204
            assert ask(f"{instance['base_uri']}", method="DELETE")[0] == 204


@pytest.fixture(scope="module")
def soak() -> Iterator[Soak]:
    with KafkaCluster(1, f"{TOPIC}:2,{TRANSACTIONAL}:1", CONFIG) as cluster:
        yield Soak(cluster)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_broker_forgets(soak: Soak, kind: Operation, note: Note, short: bool, soak_operations: int) -> None:
    _judge(soak.growth(kind, 40 if short else soak_operations), note)


def _judge(growth: Growth, note: Note) -> None:
    note("unreachable", sum(growth.unreachable.values()))
    note("pieces", growth.blocks)
    note("bytes", growth.malloc)
    complaints = list(growth.complaints())
    assert not complaints, "\n".join(complaints)


@pytest.fixture(scope="module")
def secured_soak(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredSoak]:
    directory = tmp_path_factory.mktemp("secured-soak")
    config = {name: str(value) for name, value in SECURED_CONFIG.items()}
    with SecuredCluster(directory, **config, **{"kafkapy.audit.file": str(directory / "audit.jsonl")}) as secured:
        secured.cluster.create_topic(TOPIC, 2)
        soak = SecuredSoak(secured, directory)
        yield soak
        soak.close()


@pytest.mark.timeout(600)
def test_a_secured_broker_forgets(secured_soak: SecuredSoak, note: Note) -> None:
    """A few of all operations; the long form has many of each kind."""
    _judge(secured_soak.growth(all_kinds, 8), note)


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kind", SECURED_KINDS, ids=lambda kind: kind.__name__)
def test_a_secured_broker_forgets_each(
    secured_soak: SecuredSoak, kind: SecuredOperation, note: Note, soak_operations: int
) -> None:
    _judge(secured_soak.growth(kind, soak_operations), note)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("face", ["blocking", "aio", "tx"])
def test_a_process_forgets_its_stopped_clients(soak: Soak, face: str, short: bool) -> None:
    count = 5 if short else 300
    command = [sys.executable, "-m", "system_tests.soak_clients", face, soak.bootstrap, TOPIC, str(count)]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    growth = {name: rounds for name, rounds in json.loads(output).items() if min(rounds) >= count}
    assert not growth


@pytest.mark.timeout(600)
@pytest.mark.parametrize("work", [_ask_registry, _ask_proxy], ids=["registry", "proxy"])
def test_an_http_server_forgets(
    soak: Soak, tmp_path: Path, note: Note, short: bool, soak_operations: int, work: Callable[[str, int], None]
) -> None:
    """Its resident memory is measured, which is in use in pieces; so a leak of 4 KB an operation is one that is seen."""
    count = 100 if short else soak_operations
    kind = SchemaRegistryProcess if work is _ask_registry else RestProxyProcess
    service = kind(tmp_path, soak)
    service.start()
    try:
        assert service.process is not None
        process = psutil.Process(service.process.pid)
        resident = []
        for _ in range(4):
            work(service.url, count)
            resident.append(process.memory_info().rss)
    finally:
        service.close()
    growth = min(later - earlier for earlier, later in itertools.pairwise(resident[1:])) / count
    note("bytes an operation", f"{growth:.0f}")
    assert growth < 4096


@pytest.mark.long
@pytest.mark.timeout(0)
def test_heartbeats_cost_no_memory(soak: Soak, note: Note, soak_minutes: float) -> None:
    """1,000 members with sessions of 45 s that do nothing but heartbeat every 3 s."""
    soak.groups(1)
    assert soak.broker.process is not None
    process = psutil.Process(soak.broker.process.pid)
    clients = [soak.client() for _ in range(50)]
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
