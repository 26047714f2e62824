"""kafkapy-streams: which topology, which configs, when a process is started again; and a run with two processes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkapy.streams.topology.topology import Topology
from kafkapy.testing import KafkaCluster
from kafkapy.tools.common.command_line import ToolError
from kafkapy.tools.streams.page import metrics_text
from kafkapy.tools.streams.process_configs import process_configs
from kafkapy.tools.streams.restarts import STABLE_SECONDS, RestartPolicy
from kafkapy.tools.streams.streams import main
from kafkapy.tools.streams.topology_of import topology_of
from tests.waiting import HANG_SECONDS, wait_until

ROOT = Path(__file__).parents[3]
APP = "tests.tools.streams.word_count_app"


class TestTopologies:
    @pytest.mark.parametrize("name", ["builder", "plain", "topology"])
    def test_what_may_be_named(self, name: str) -> None:
        assert isinstance(topology_of(f"{APP}:{name}", {"application.id": "a"}), Topology)

    @pytest.mark.parametrize(
        ("path", "reason"),
        [
            ("word_count", "must read like"),
            (f"{APP}:nothing", "neither a Topology nor a StreamsBuilder"),
            (f"{APP}:missing", "cannot be imported"),
            (f"{APP}:broken", "no luck"),
        ],
    )
    def test_what_may_not(self, path: str, reason: str) -> None:
        with pytest.raises(ToolError, match=reason):
            topology_of(path, {})


class TestConfigs:
    CONFIGS = {
        "application.id": "a",
        "client.id": "c",
        "state.dir": "/state",
        "application.server": "host:9000",
        "main.consumer.group.instance.id": "m",
    }

    def test_the_first_process_has_what_is_configured(self) -> None:
        assert process_configs(self.CONFIGS, 1) == self.CONFIGS

    def test_the_others_have_their_own(self) -> None:
        assert process_configs(self.CONFIGS, 3) == {
            "application.id": "a",
            "client.id": "c-3",
            "state.dir": "/state/process-3",
            "application.server": "host:9002",
            "main.consumer.group.instance.id": "m-3",
        }

    def test_a_port_must_be_there_for_each(self) -> None:
        with pytest.raises(ToolError, match=r"application\.server"):
            process_configs({"application.server": "host:65535"}, 2)


class TestRestarts:
    def test_pauses_grow_up_to_a_minute(self) -> None:
        policy = RestartPolicy(10)
        assert [policy.pause_after(1) for _ in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]

    def test_there_is_a_limit_in_a_row(self) -> None:
        policy = RestartPolicy(1)
        assert policy.pause_after(1) == 1
        assert policy.pause_after(STABLE_SECONDS) == 1
        assert policy.pause_after(1) is None


def test_samples_of_one_metric_stand_together() -> None:
    text = metrics_text(
        [
            ("a", "gauge", "A.", {"process": "1"}, 1),
            ("b", "counter", "B.", {}, 2),
            ("a", "gauge", "A.", {"process": "2"}, 3),
        ]
    )
    assert [line for line in text.splitlines() if not line.startswith("#")] == [
        'a{process="1"} 1',
        'a{process="2"} 3',
        "b 2",
    ]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "application.id"),
        (["--property", "x"], "NAME=VALUE"),
        (["--processes", "0"], "1 or more"),
        (["--config", "/nowhere/file"], "No such file"),
    ],
)
def test_command_lines_that_are_refused(capsys: pytest.CaptureFixture[str], arguments: list[str], reason: str) -> None:
    assert main(["run", f"{APP}:builder", *arguments]) == 1
    error = capsys.readouterr().err
    assert reason in error
    assert error.count("\n") == 1


def _started(name: str, arguments: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "kafkapy.tools.streams", "run", name, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.integration
def test_a_topology_that_cannot_run_ends_all() -> None:
    properties = ["--property", "application.id=a", "--property", "bootstrap.servers=127.0.0.1:1"]
    with _started(f"{APP}:missing", ["--processes", "2", *properties]) as program:
        _, error = program.communicate(timeout=HANG_SECONDS)
    assert program.returncode == 1
    assert f"topology: {APP}:missing cannot be imported" in error
    assert "Traceback" not in error


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    with KafkaCluster() as running:
        yield running


class Page:
    """What the program serves."""

    def __init__(self, url: str) -> None:
        self.url = url

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(self.url + path) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def is_ready(self) -> bool:
        status, text = self.get("/ready")
        assert json.loads(text)["ready"] == (status == 200)
        return status == 200


@pytest.mark.integration
def test_processes_run_and_are_started_again(cluster: KafkaCluster, tmp_path: Path) -> None:
    cluster.create_topics("runner-in:4,runner-out:1")
    config = tmp_path / "app.properties"
    config.write_text(
        f"application.id=runner\nbootstrap.servers={cluster.bootstrap_servers}\nstate.dir={tmp_path}/state\n"
        "commit.interval.ms=100\nsession.timeout.ms=6000\nreplication.factor=1\n"
    )
    arguments = ["--processes", "2", "--config", str(config), "--listen", "127.0.0.1:0"]
    with _started(f"{APP}:topology", arguments) as program:
        try:
            _watch(program, cluster, tmp_path / "died")
            os.kill(program.pid, signal.SIGINT)
            _, error = program.communicate(timeout=HANG_SECONDS)
        finally:
            program.kill()
    assert program.returncode == 0, error
    assert "Traceback" not in error
    assert (tmp_path / "state" / "runner").is_dir()
    assert (tmp_path / "state" / "process-2" / "runner").is_dir()


def _watch(program: subprocess.Popen[str], cluster: KafkaCluster, mark: Path) -> None:
    """Both processes work, and one that dies is started again."""
    assert program.stdout is not None
    page = Page(program.stdout.readline().split()[-1])
    wait_until(page.is_ready, lambda: page.get("/ready"))

    def handled() -> dict[str, str]:
        return dict((record.value or b"").decode().split(" ") for record in cluster.records("runner-out"))

    for number in range(4):
        cluster.produce_many("runner-in", [f"a{number}".encode()], partition=number)
    wait_until(lambda: len(handled()) == 4, handled)
    assert len(set(handled().values())) == 2
    cluster.produce_many("runner-in", [f"die:{mark}".encode()])
    wait_until(lambda: f"die:{mark}" in handled(), handled)
    wait_until(page.is_ready, lambda: page.get("/ready"))
    status, metrics = page.get("/metrics")
    restarts = [line for line in metrics.splitlines() if line.startswith("kafkapy_streams_restarts_total")]
    assert status == 200
    assert sorted(line.split()[-1] for line in restarts) == ["0", "1"]
    assert re.search(
        r"kafka_streams_stream_thread_metrics_process_total\{thread_id=\".*\",process=\"2\"\} [1-9]", metrics
    )
    assert page.get("/other")[0] == 404
