"""kafka-dev: what it says, what it tells programs, and how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kafkapy.admin.client import AdminClient
from kafkapy.tools import dev
from tests.waiting import HANG_SECONDS, wait_until

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--brokers", "2"], "--brokers is 1 or 3, not 2"),
        (["--port", "0"], "--port 0 is no port"),
        (["--topics", "a:x"], "'x' is no number of partitions"),
        (["--config", "retention"], "--config takes key=value, not 'retention'"),
        (["--config", "log.dirs=/tmp"], "the config log.dirs is the cluster's own"),
        (["--tpoics", "a"], "tpoics is not a recognized option"),
    ],
)
def test_a_mistake_is_named(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert dev.main(arguments) == 1
    assert sentence in capsys.readouterr().err


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert dev.main(["--help"]) == 0
    assert "--topics <clicks:6,users:3:compact>" in capsys.readouterr().out


@pytest.fixture
def running(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    arguments = ["--topics", "clicks:6,users:3:compact", "--json", str(tmp_path / "kafka.json")]
    process = subprocess.Popen(
        [sys.executable, "-m", "kafkapy.tools.dev", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT,
    )  # fmt: skip
    yield process
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def told(process: subprocess.Popen[str], file: Path) -> dict[str, str]:
    wait_until(lambda: file.exists() or process.poll() is not None)
    assert process.poll() is None
    content: dict[str, str] = json.loads(file.read_text())
    return content


@pytest.mark.integration
def test_until_ctrl_c(running: subprocess.Popen[str], tmp_path: Path) -> None:
    content = told(running, tmp_path / "kafka.json")
    with AdminClient(content["bootstrap_servers"]) as admin:
        topics = admin.list_topics()
    assert {name: len(topic.partitions) for name, topic in topics.items()} == {"clicks": 6, "users": 3}
    children = psutil.Process(running.pid).children()
    running.send_signal(signal.SIGINT)
    output, _ = running.communicate(timeout=HANG_SECONDS)
    assert running.returncode == 0, output
    assert f"bootstrap.servers={content['bootstrap_servers']}\n" in output
    assert not Path(content["directory"]).exists() and not (tmp_path / "kafka.json").exists()
    assert children and not any(child.is_running() for child in children)


@pytest.mark.integration
def test_a_broker_that_ends_is_told_of(running: subprocess.Popen[str], tmp_path: Path) -> None:
    told(running, tmp_path / "kafka.json")
    (broker,) = psutil.Process(running.pid).children()
    broker.kill()
    output, _ = running.communicate(timeout=HANG_SECONDS)
    assert running.returncode == 1
    assert "broker 0 has ended; " in output and "The end of its log:" in output
