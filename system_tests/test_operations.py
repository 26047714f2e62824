"""docs/operations.md as it is written: its commands, in their order, on a cluster that they make themselves."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kafkapy.common.free_ports import free_ports
from system_tests.services import TIME_LIMIT_FACTOR

TREE = Path(__file__).parent.parent
PAGE = TREE / "docs" / "operations.md"
_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> list[str]:
    return _BLOCK.findall(PAGE.read_text())


def here(commands: str, directory: Path, zookeeper: int, brokers: int, metrics: int) -> str:
    """The page's commands with directories and ports of this test's own."""
    commands = commands.replace("/etc/kafkapy", f"{directory}/etc").replace("/var/lib/kafkapy", f"{directory}/lib")
    commands = commands.replace("909$((id + 2))", f"$((id + {brokers}))").replace(
        "940$((id + 4))", f"$((id + {metrics}))"
    )
    for number in range(3):
        commands = commands.replace(f"localhost:{9092 + number}", f"localhost:{brokers + number}")
    return commands.replace("localhost:9404", f"localhost:{metrics}").replace("2181", str(zookeeper))


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """Whatever still runs with a file in it is killed at the end."""
    yield tmp_path
    for process in psutil.process_iter():
        try:
            if any(str(tmp_path) in word for word in process.cmdline()):
                process.send_signal(signal.SIGKILL)
        except psutil.Error:
            pass  # it has ended, or is somebody else's


@pytest.mark.timeout(300)
def test_every_command_of_the_page(directory: Path) -> None:
    zookeeper, base = free_ports(1)[0], _row_of_ports(6)
    script = "".join(f"echo '== {number}'\n{block}" for number, block in enumerate(blocks()))
    (commands := directory / "commands").write_text(here(script, directory, zookeeper, base, base + 3))
    done = subprocess.run(
        ["bash", "-euo", "pipefail", commands],
        cwd=TREE,
        env={**os.environ, "SIGNAL": "TERM"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIME_LIMIT_FACTOR * 280,
    )
    assert done.returncode == 0, done.stdout[-6000:]
    assert (directory / "lib" / "metrics.txt").read_text().count("\n") > 500
    assert "retention.ms=86400000" in (directory / "lib" / "configs.txt").read_text()
    assert (directory / "lib" / "billing-offsets.csv").read_text().startswith("orders,0,")
    assert "Full thread dump" in (directory / "lib" / "logs-0" / "kafkaServer.out").read_text()


def _row_of_ports(count: int) -> int:
    """The first of so many free ports in a row."""
    for _ in range(100):
        first = free_ports(1)[0]
        taken = {connection.laddr.port for connection in psutil.net_connections() if connection.laddr}
        if not taken & set(range(first, first + count)):
            return first
    raise AssertionError("no row of free ports")
