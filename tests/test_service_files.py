"""The systemd units and the container file in config/ fit the rest of the house."""

from __future__ import annotations

import configparser
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.tools.servers.server_arguments import ServerArguments, configs_of
from tests.waiting import HANG_SECONDS

ROOT = Path(__file__).parents[1]
CONFIG = ROOT / "config"
UNITS = ["kafkapy.service", "kafkapy-zookeeper.service"]


def unit(name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(CONFIG / name)
    return parser


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze here")
@pytest.mark.parametrize("name", UNITS)
def test_systemd_takes_the_unit(name: str, tmp_path: Path) -> None:
    """As a clone in /opt/kafkapy would have it: all of its commands must be there."""
    text = (CONFIG / name).read_text()
    (tmp_path / name).write_text(text.replace("/opt/kafkapy", str(ROOT)))
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", tmp_path / name], capture_output=True, text=True, timeout=HANG_SECONDS
    )
    assert (verified.returncode, verified.stderr) == (0, "")


@pytest.mark.parametrize("name", UNITS)
def test_a_units_command_is_one_of_ours(name: str) -> None:
    script, *_ = unit(name)["Service"]["ExecStart"].split()
    assert (ROOT / Path(script).relative_to("/opt/kafkapy")).is_file()


def test_the_broker_has_the_time_of_a_controlled_shutdown() -> None:
    config = KafkaConfig.from_properties({"zookeeper.connect": "z:1"})
    tries = 1 + config.controlled_shutdown_max_retries
    longest_ms = tries * (config.controller_socket_timeout_ms + config.controlled_shutdown_retry_backoff_ms)
    seconds = int(unit("kafkapy.service")["Service"]["TimeoutStopSec"])
    assert longest_ms / 1000 < seconds
    assert f"--stop-timeout {seconds}" in (CONFIG / "Dockerfile").read_text()


def instructions() -> list[tuple[str, str]]:
    """(instruction, its text) of the container file, continued lines joined."""
    text = re.sub(r"^#.*\n", "", (CONFIG / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [(words[0], words[2]) for words in (line.partition(" ") for line in lines) if words[0]]


def texts(instruction: str) -> list[str]:
    return [text for name, text in instructions() if name == instruction]


def test_the_container_file_is_of_known_instructions_and_runs_as_nobody_special() -> None:
    known = {
        "FROM",
        "RUN",
        "WORKDIR",
        "COPY",
        "ENV",
        "USER",
        "VOLUME",
        "EXPOSE",
        "STOPSIGNAL",
        "HEALTHCHECK",
        "ENTRYPOINT",
    }
    assert {name for name, _ in instructions()} <= known
    assert all(re.fullmatch(r"[\w/-]+:[\w.-]+( AS \w+)?", image) for image in texts("FROM"))
    assert texts("USER") == ["kafka"]
    assert "useradd" in "".join(texts("RUN"))


def test_the_container_starts_a_command_of_ours_with_arguments_that_it_takes() -> None:
    (entry_point,) = texts("ENTRYPOINT")
    command, *arguments = json.loads(entry_point)
    assert f"{command} = kafkapy.tools.kafka_server_start:main" in (ROOT / "setup.cfg").read_text()
    given = ServerArguments.parse(arguments)
    assert given.with_environment
    assert given.file == "/etc/kafkapy/server.properties"


def test_what_is_copied_is_there_and_let_in() -> None:
    ignored = (CONFIG / "Dockerfile.dockerignore").read_text().splitlines()
    assert ignored[0] == "*"
    assert all((ROOT / line[1:]).exists() for line in ignored if line.startswith("!"))
    copied = [text.split()[:-1] for text in texts("COPY") if not text.startswith("--from")]
    assert all((ROOT / path).exists() for paths in copied for path in paths)
    shipped = (CONFIG / "server.properties").read_text()
    assert "\nlog.dirs=" in shipped  # what the container file changes in it
    assert "\nzookeeper.connect=" in shipped


def test_the_health_check_asks_where_the_broker_answers() -> None:
    variables = dict(re.findall(r"(\w+)=(\S+)", texts("ENV")[0]))
    assert "kafkapy.health.listener" in configs_of(variables)
    port = variables["KAFKA_KAFKAPY_HEALTH_LISTENER"].removeprefix(":")
    assert texts("EXPOSE") == [f"9092 {port}"]
    assert f"localhost:{port}/readyz" in texts("HEALTHCHECK")[0]
