"""The commands of docs/security.md, typed one after another as the page has them, but for ports and the broker's id."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkapy.admin.client import AdminClient
from kafkapy.common.free_ports import free_ports
from kafkapy.common.properties import load_file
from kafkapy.protocol.errors import KafkaError
from kafkapy.tools.servers.kafka_server_stop import brokers
from tests.pages.programs import ROOT
from tests.waiting import HANG_SECONDS, wait_until

PAGE = (ROOT / "docs" / "security.md").read_text()
SECTION = re.search(r"^## From an open cluster.*?(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^```sh\n(.*?)^```$", SECTION[0] if SECTION else "", re.MULTILINE | re.DOTALL)
STOP, START, ACLS, ALICE, BOB = range(5, 10)
SCRIPT = '#!/bin/sh\nexec {} -m kafkapy.tools.{} "$@"\n'

pytestmark = pytest.mark.integration


class Shell:
    """A directory with bin/ and config/, as a clone has them; its broker has an id and ports of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        open_port, closed_port = free_ports(2)
        # The id of no other broker on this machine: the page stops a broker by its id.
        self._id = os.getpid()
        self._replaced = {
            "localhost:9092": f"localhost:{open_port}",
            "localhost:9093": f"localhost:{closed_port}",
            "--node-id 0": f"--node-id {self._id}",
        }
        (directory / "bin").mkdir()
        for script in (ROOT / "bin").glob("kafka-*.sh"):
            if tool := re.search(r'_run\.sh" ([\w.]+)', script.read_text()):
                made = directory / "bin" / script.name
                made.write_text(SCRIPT.format(sys.executable, tool[1]))
                made.chmod(0o755)
        properties = {
            **load_file(str(ROOT / "config" / "server.properties")),
            "broker.id": str(self._id),
            "listeners": f"PLAINTEXT://localhost:{open_port}",
            "log.dirs": str(directory / "data"),
            "zookeeper.connect": f"embedded:{directory / 'zookeeper'}",
            "reserved.broker.max.id": "2147483647",
        }
        self.config = directory / "config" / "server.properties"
        self.config.parent.mkdir()
        self.config.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Type it."""
        for shown, here in self._replaced.items():
            command = command.replace(shown, here)
        return subprocess.run(
            ["bash", "-c", command],
            cwd=self.directory,
            env={**os.environ, "PYTHONPATH": str(ROOT), "LOG_DIR": str(self.directory / "logs")},
            capture_output=True,
            text=True,
            timeout=HANG_SECONDS,
        )

    def serves(self, address: str, config: Path | None = None) -> bool:
        """Does the broker answer there, and has it a controller?"""
        properties = {} if config is None else load_file(str(config))
        try:
            with AdminClient.from_properties({**properties, "bootstrap.servers": self._replaced[address]}) as admin:
                return admin.describe_cluster().controller is not None
        except KafkaError:
            return False

    def is_running(self) -> bool:
        """Is the broker's process there?"""
        return any(broker.is_named(str(self.config)) for broker in brokers())

    def log(self) -> str:
        """What the broker has said."""
        return "".join(file.read_text() for file in (self.directory / "logs").glob("*"))


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    made = Shell(tmp_path)
    assert made.run(COMMANDS[START]).returncode == 0
    try:
        wait_until(lambda: made.serves("localhost:9092"), made.log)
        yield made
    finally:
        made.run(COMMANDS[STOP])
        wait_until(lambda: not made.is_running())


def test_from_an_open_cluster_to_a_closed_one(shell: Shell) -> None:
    assert len(COMMANDS) == 10
    for command in COMMANDS[: STOP + 1]:
        done = shell.run(command)
        assert done.returncode == 0, done.stderr
    wait_until(lambda: not shell.is_running())
    assert shell.run(COMMANDS[START]).returncode == 0
    admin = shell.directory / "security" / "admin.properties"
    wait_until(lambda: shell.serves("localhost:9093", admin), shell.log)

    added = shell.run(COMMANDS[ACLS])
    assert "operation=WRITE, permissionType=ALLOW" in added.stdout, added.stderr
    produced = shell.run(COMMANDS[ALICE])
    assert (produced.returncode, produced.stderr) == (0, "")
    read = COMMANDS[BOB].replace("bob", "alice").rstrip() + " --max-messages 1"
    assert shell.run(read).stdout == "the first order\n"
    refused = shell.run(COMMANDS[BOB])
    assert refused.stdout == ""
    assert "Topic authorization failed" in refused.stderr
    assert "-secret" not in shell.log()
