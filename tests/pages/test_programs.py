"""Every Python program of README.md and docs/*.md has the right types, and runs as it is but for the addresses."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from kafkapy.protocol.messages.sasl_handshake import SaslHandshakeResponse
from kafkapy.testing import KafkaCluster
from kafkapy.testing.waiting import wait_until
from tests.pages.programs import NEEDS, ROOT, Program, all_programs, free_names, programs_of, write_programs
from tests.schemas.registry_server import RegistryServer, running_registry
from tests.tls_broker import TlsBroker, make_certificate
from tests.waiting import HANG_SECONDS

Replacements = dict[str, str]
"""What a page shows -> what it is here."""


@dataclass(frozen=True)
class Run:
    prints: tuple[str, ...] = ()
    """Lines or parts of such, which come in this order."""
    records: int = 0
    """So many are in the topic "events" before ("0", "1", …), which has one partition."""
    has_topic: bool = True
    is_stopped: bool = False
    """It reads for ever: after what it prints it gets Ctrl-C."""
    then: str = ""
    """What is done with what the program has made."""


SERVED = """

async def ask(method: str, body: bytes = b"") -> Any:
    sent: list[Any] = []
    scope = {"type": "http", "method": method, "path": "/events", "query_string": b"", "app": app}
    scope["headers"] = [(b"content-type", b"application/json")]

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], json.loads(sent[1]["body"])


async def serve() -> None:
    async with lifespan(app):
        print(*await ask("POST", b'{"order": 1}'))
        while not seen:
            await asyncio.sleep(0.01)
        print(*await ask("GET"))


import json
asyncio.run(serve())
"""
"""Requests to an application, as a server hands them over (ASGI)."""

RUNS = {
    "README.md: kafkapy 1": Run(("0", "b'hello'")),
    "README.md: Python clients 1": Run(("0 0 b'user-1' b'hello'", " b'three'", "assigned"), is_stopped=True),
    "clients.md: The Python clients 1": Run(("'events'",)),
    "connect_data.md: Dataclasses 1": Run(("9.50 True", "2024-02-29T00:00:00+00:00")),
    "clients.md: Producer 1": Run(("0", "0")),
    "clients.md: Producer 2": Run(("0 0 3",)),
    "clients.md: Producer 3": Run(("100 records moved",), 100),
    "clients.md: Consumer 1": Run(("events 0 99 None b'99'",), 100, is_stopped=True),
    "clients.md: Consumer 2": Run(records=100),
    "clients.md: Consumer 3": Run(("0", "99"), 100),
    "clients.md: Consumer 4": Run(("group_state",), 100),
    "clients.md: Metrics 1": Run((".", "."), 100),
    "clients.md: Helpers 1": Run(("b'90'", "b'99'", "100"), 100),
    "clients.md: JSON 1": Run(("user-1 login",)),
    "clients.md: TLS and SASL 1": Run(("topics: []",)),
    "clients.md: Logging 1": Run(("INFO kafkapy.consumer: Group readers: discovered coordinator",)),
    "clients.md: Seek by time 1": Run(("0 b'0'", "2 b'2'"), 3),
    "clients.md: FastAPI 1": Run(("200 {'partition': 0, 'offset': 0}", "200 [{'order': 1}]"), then=SERVED),
    "clients.md: asyncio 1": Run(("0", "1", "b'hello'", "events")),
    "clients.md: Twisted 1": Run(("0", "b'hello'")),
    "schemas.md: Producer and consumer 1": Run(("1 Ann",)),
    "schemas.md: The registry's client 1": Run(("1 ['prices-value']", "False", "BACKWARD")),
    "schemas.md: As columns 1": Run(("['Ann']",)),
    # The last: those before have the topic.
    "clients.md: Administration 1": Run(("'events'",), has_topic=False),
    "streams.md: Columns 1": Run(("HELLO", "ValueAndTimestamp(value=1")),
    "streams.md: Count words 1": Run(("Topologies:", "Sub-topology: 0", "Sub-topology: 1")),
}
IN_SPARK = {"README.md: Spark 1", "spark.md: The Spark connector 1"}
"""tests/spark/test_spark_programs.py runs them, where a session is."""

IN_WAREHOUSE = {"warehouse.md: Other readers 1"}
"""tests/warehouse/test_reader.py runs it, where a table is."""

PROGRAMS = {program.name: program for program in all_programs()}


def test_types_of_all_programs(tmp_path: Path) -> None:
    paths = write_programs(tmp_path)
    command = [sys.executable, "-m", "mypy", "--config-file", "setup.cfg", *map(str, paths)]
    environment = {**os.environ, "MYPYPATH": str(tmp_path)}
    checked = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_all_programs_are_run() -> None:
    assert set(PROGRAMS) == set(RUNS) | IN_SPARK | IN_WAREHOUSE


def test_a_program_is_a_block_of_python_under_its_heading() -> None:
    page = "# A\n```python\na = b\n```\ntext\n```python\nc\n```\n```sh\n# no\n```\n## B\n```python\nd\n```\n"
    programs = [(program.name, program.text) for program in programs_of("p.md", page)]
    assert programs == [("p.md: A 1", "a = b\n"), ("p.md: A 2", "c\n"), ("p.md: B 1", "d\n")]


def test_what_a_program_does_not_make_it_is_given() -> None:
    assert free_names("import a.b\nfor x in producer: print(x, a)\nasync def f(y): return y + f(z)") == {
        "producer",
        "z",
    }
    assert "KafkaProducer(" in Program("p", "h", 1, "producer.send('t')").whole()
    with pytest.raises(ValueError, match="p: h 1 uses what it does not make: nobody, none"):
        Program("p", "h", 1, "consumer.x(nobody, none)").whole()


@pytest.fixture(scope="module")
def kafka(zookeeper: str) -> Iterator[KafkaCluster]:
    with KafkaCluster(topics="events:1", zookeeper=f"{zookeeper}/pages") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def registry() -> Iterator[RegistryServer]:
    with running_registry() as running:
        yield running


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replacements]:
    """A broker with TLS that takes whatever password."""
    certificate = make_certificate(tmp_path_factory.mktemp("tls"))
    with TlsBroker(certificate) as broker:
        broker.handlers |= {
            ApiKey.SASL_HANDSHAKE: lambda _: SaslHandshakeResponse(mechanisms=["PLAIN"]),
            ApiKey.SASL_AUTHENTICATE: lambda _: SaslAuthenticateResponse(),
        }
        yield {"broker.example.com:9093": broker.address, "/etc/ssl/kafka-ca.pem": str(certificate[0])}


@pytest.mark.integration
@pytest.mark.parametrize("name", RUNS)
def test_program_runs(
    name: str, kafka: KafkaCluster, registry: RegistryServer, secure: Replacements, tmp_path: Path
) -> None:
    run, program = RUNS[name], PROGRAMS[name]
    if not program.can_run:
        pytest.skip(f"{NEEDS[name]} is not installed")
    if not program.page.startswith("schemas"):
        # Those of schemas.md go on with what the one before has written.
        kafka.reset()
    kafka.produce_many("events", [str(number) for number in range(run.records)])
    if not run.has_topic:
        kafka.delete_topic("events")
        wait_until(lambda: "events" not in kafka.admin.list_topics(), HANG_SECONDS, lambda: "the topic is gone")
    path = tmp_path / "program.py"
    text = program.whole().replace("localhost:9092", kafka.bootstrap_servers)
    for shown, ours in {"http://localhost:8081": registry.url, "http://localhost:8082": registry.url, **secure}.items():
        text = text.replace(shown, ours)
    path.write_text(text + run.then)
    process = subprocess.Popen(
        [sys.executable, "-u", "-W", "always::ResourceWarning", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "KAFKA_PASSWORD": "secret"},
    )
    try:
        printed = printed_by(process, run)
        _, errors = process.communicate()
    finally:
        process.kill()
    assert process.returncode == (-signal.SIGINT if run.is_stopped else 0), errors
    assert contains_in_order(printed, run.prints), printed + errors
    assert "ResourceWarning" not in errors


def printed_by(process: subprocess.Popen[str], run: Run) -> str:
    """Its output; a program that reads for ever is stopped when it has printed what it should."""
    assert process.stdout is not None
    printed = ""
    for line in process.stdout:
        printed += line
        if run.is_stopped and contains_in_order(printed, run.prints):
            process.send_signal(signal.SIGINT)
            break
    return printed


def contains_in_order(text: str, parts: tuple[str, ...]) -> bool:
    at = 0
    for part in parts:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True
