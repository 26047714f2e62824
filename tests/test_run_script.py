"""bin/_run.sh: what it has bin/setup.sh install before a command runs for the first time."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

RUN = Path(__file__).parents[1] / "bin" / "_run.sh"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Its setup.sh and its python only say how they are called."""
    (tmp_path / "bin").mkdir()
    shutil.copy(RUN, tmp_path / "bin")
    for program in (tmp_path / "bin" / "setup.sh", tmp_path / ".venv" / "bin" / "python"):
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\necho {program.name} $*\n")
        program.chmod(0o755)
    return tmp_path


def run(clone: Path, *words: str) -> tuple[list[str], str]:
    """What setup.sh was asked for (nothing: it was not called), and the command that ran."""
    done = subprocess.run([clone / "bin" / "_run.sh", *words], capture_output=True, text=True, check=True)
    asked = [line.removeprefix("setup.sh ") for line in done.stderr.splitlines() if line.startswith("setup.sh")]
    return asked, done.stdout.strip()


@pytest.mark.parametrize(
    ("words", "needs"),
    [
        ("topics --list", "broker"),
        ("kafka_server_start config/server.properties", "broker"),
        ("zookeeper_server_start -daemon config/zookeeper.properties", "broker"),
        ("zookeeper_server_start --embedded config/zookeeper.properties", "broker"),
        ("zookeeper_server_start -daemon --apache config/zookeeper.properties", "zookeeper"),
        ("zookeeper.zookeeper_shell localhost:2181 ls /", "broker"),
        ("zookeeper.zookeeper_server_stop", "broker"),
        ("cluster_local start -n 3", "broker"),
        ("cluster_local start -n 3 --zookeepers 1", "broker"),
        ("cluster_local start -n 3 --zookeepers 3", "zookeeper"),
        ("cluster_local start --zookeepers=3", "zookeeper"),
        ("cluster_local start --apache", "zookeeper"),
        ("schema_registry_start f", "registry"),
        ("kafka_rest_start f", "rest"),
        ("connect.connect_standalone f g", "rest"),
        ("connect.connect_distributed f", "rest"),
        ("schemas", "bus"),
        ("warehouse", "warehouse"),
        ("examples.quickstart", "quickstart"),
    ],
)
def test_a_first_command_installs_what_it_needs(clone: Path, words: str, needs: str) -> None:
    asked, ran = run(clone, *words.split())
    assert asked == [needs]
    module, *rest = words.split()
    assert ran == " ".join(
        ["python -m", module if module.startswith("examples.") else f"kafkapy.tools.{module}", *rest]
    )
    (clone / ".venv" / ".kafkapy-setup").write_text(f"setup.cfg=x\nextras=a {needs} z\n")
    assert run(clone, *words.split())[0] == []
