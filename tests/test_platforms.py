"""Where kafkapy runs: macOS and Windows, as far as a Linux can show it from which is taken what these lack (`lacking/`)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafkapy.testing.cluster import KafkaCluster

pytestmark = pytest.mark.integration

LACKING = Path(__file__).parent / "lacking"
SECONDS = 300

CLIENTS = """
import asyncio, itertools
from kafkapy import KafkaConsumer, KafkaProducer
from kafkapy.admin import NewTopic
from kafkapy import KafkaAdminClient
from kafkapy.aio import AIOKafkaConsumer, AIOKafkaProducer

class Loop(asyncio.SelectorEventLoop):
    pass

def no_readers(*_):
    raise NotImplementedError

if LACKING == "windows":
    Loop.add_reader = Loop.add_writer = Loop.remove_reader = Loop.remove_writer = no_readers

def blocking(servers):
    with KafkaAdminClient(bootstrap_servers=servers) as admin:
        admin.create_topics([NewTopic("clicks", 3, 1)])
    with KafkaProducer(bootstrap_servers=servers) as producer:
        for i in range(1000):
            producer.send("clicks", b"%d" % i)
        producer.send("clicks", bytes(900_000))
        producer.flush(60)
    with KafkaConsumer(
        "clicks", group_id="g", bootstrap_servers=servers, auto_offset_reset="earliest", consumer_timeout_ms=60000
    ) as consumer:
        records = list(itertools.islice(consumer, 1001))
        assert len(records) == 1001 and max(len(record.value) for record in records) == 900_000
        assert consumer.poll(0) == {}

async def on_asyncio(servers):
    async with AIOKafkaProducer(bootstrap_servers=servers) as producer:
        for i in range(100):
            await producer.send_and_wait("clicks", b"%d" % i)
    async with AIOKafkaConsumer("clicks", bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        count = 0
        while count < 1101:
            count += sum(map(len, (await consumer.getmany(timeout_ms=1000)).values()))

def run(servers):
    blocking(servers)
    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(asyncio.wait_for(on_asyncio(servers), 60))
"""

IN_A_CLUSTER = """
from kafkapy.testing import KafkaCluster

with KafkaCluster() as cluster:
    run(cluster.bootstrap_servers)
    print(*(line for line in cluster.brokers[0].log().splitlines() if "Of the system" in line))
    broker = cluster.brokers[0]
    assert broker.stop() in (0, -15), broker.last_lines()
"""

TEST_OF_A_USER = """
def test_round_trip(kafka):
    pass
"""


def python(lacking: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "LACKING": lacking,
        "PYTHONPATH": os.pathsep.join([str(LACKING), str(LACKING.parents[1])]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)


def test_macos_has_brokers_and_clients() -> None:
    done = python("macos", "-c", f"LACKING = 'macos'\n{CLIENTS}\n{IN_A_CLUSTER}")
    assert done.returncode == 0, done.stderr
    assert "it uses poll, sendfile; it lacks reads from memory only" in done.stdout


def test_windows_has_clients() -> None:
    with KafkaCluster() as cluster:
        servers = cluster.bootstrap_servers
        done = python("windows", "-c", f"LACKING = 'windows'\n{CLIENTS}\nrun({servers!r})")
        assert done.returncode == 0, done.stderr
        topics = python("windows", "-m", "kafkapy.tools.topics", "--bootstrap-server", servers, "--list")
        assert topics.stdout.split() == ["__consumer_offsets", "clicks"], topics.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["-m", "kafkapy.tools.dev"],
        ["-m", "kafkapy.tools.kafka_server_start", "server.properties"],
        ["-m", "kafkapy.tools.cluster_local", "start"],
        ["-m", "kafkapy.tools.zookeeper_server_start", "zookeeper.properties"],
        ["-m", "kafkapy.tools.servers.kafka_server_stop"],
        ["-m", "kafkapy.tools.dump_log", "--files", "00000000000000000000.log"],
        ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "kafkapy.testing.plugin", "test_of_a_user.py"],
    ],
    ids=lambda command: " ".join(command[1:3]),
)
def test_windows_has_no_brokers_and_is_told_what_serves_instead(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "test_of_a_user.py").write_text(TEST_OF_A_USER)
    (tmp_path / "zookeeper.properties").write_text("dataDir=data\n")
    monkeypatch.chdir(tmp_path)
    done = python("windows", *command)
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert "does not run on Windows. Run it in WSL (Windows Subsystem for Linux) or in a container" in said
    assert "Traceback" not in said
