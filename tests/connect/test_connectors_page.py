"""The connectors of docs/connectors.md run as the page says, with its own tests; and what `kafkapy.connect.testing` finds."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from kafkapy.connect.testing import ConnectorFailed, ConnectorTest, Delivered, Kill
from tests.waiting import HANG_SECONDS

ROOT = Path(__file__).parents[2]


def write_blocks(folder: Path) -> None:
    blocks = re.findall(r"^```py\n(.*?)^```$", (ROOT / "docs" / "connectors.md").read_text("utf-8"), re.M | re.S)
    for name, block in zip(("counting", "listing", "test_page"), blocks, strict=True):
        (folder / f"{name}.py").write_text(block, "utf-8")


@pytest.mark.integration
def test_the_page(tmp_path: Path) -> None:
    write_blocks(tmp_path)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    environment = {"PYTHONPATH": f"{ROOT}:{tmp_path}", "PATH": "/usr/bin:/bin"}
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=HANG_SECONDS)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_what_is_lost_and_what_came_twice_is_said() -> None:
    Delivered([1, 2], [1, 2]).check(exactly_once=True)
    Delivered([1, 2], [1, 2, 1]).check()
    with pytest.raises(AssertionError, match="1 of 2 records are lost: 2"):
        Delivered([1, 2], [1]).check()
    with pytest.raises(AssertionError, match="1 records came more than once: 1"):
        Delivered([1, 2], [1, 1, 2]).check(exactly_once=True)
    with pytest.raises(AssertionError, match="another order"):
        Delivered([1, 2], [2, 1]).check(exactly_once=True)


def test_a_connector_that_cannot_be_made_fails_the_test() -> None:
    test = ConnectorTest("localhost:1", timeout_s=HANG_SECONDS)
    with pytest.raises(ConnectorFailed, match="cannot be made"):
        test.sink({"connector.class": "no.such:Connector", "topics": "t"}, ["x"], list, [Kill("put")])
