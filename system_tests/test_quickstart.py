"""The quick start as a newcomer runs it, and interrupted on the way: it says so, and leaves nothing running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from system_tests.test_faults import small_disk

TREE = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.long

Quickstart = subprocess.Popen[str]


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """The TMPDIR of a quick start, by which its processes are known."""
    yield tmp_path
    for process in started_by(tmp_path):
        process.kill()


def quickstart(directory: Path, *arguments: str) -> Quickstart:
    return subprocess.Popen(
        [sys.executable, "-m", "examples.quickstart", *arguments],
        cwd=TREE,
        env=dict(os.environ, TMPDIR=str(directory)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def started_by(directory: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("TMPDIR") == str(directory):
                found.append(process)
        except psutil.Error:
            pass  # somebody else's, or gone
    return found


def assert_nothing_runs(directory: Path) -> None:
    deadline = time.monotonic() + 10
    while (left := started_by(directory)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left, [process.cmdline() for process in left]


@pytest.mark.timeout(600)
def test_a_file_of_ones_own(directory: Path) -> None:
    path = directory / "with space" / "mixed.txt"
    path.parent.mkdir()
    lines = b"".join(b"call%d(self) and\xe9 words\r\n" % number for number in range(2000))
    path.write_bytes(lines + b"\n\x00\x00 x(\n" + b"y" * 500_000 + b"\nno newline at the end")
    process = quickstart(directory, str(path))
    output = process.communicate()[0]
    assert process.returncode == 0, output
    assert "member 1 has read 2,004 lines of 1 file" in output or "member 1 has read 0 lines of 0 files" in output
    assert "  identical" in output and "2,004 lines, 6,008 words, 2,001 identifiers" in output
    assert "the same as a direct count of the files" in output
    assert "\r" not in output and "%|" not in output, "a progress bar in a pipe"
    assert (next(directory.glob("kafkapy-quickstart-*")) / "quickstart.png").stat().st_size > 1000
    assert_nothing_runs(directory)


@pytest.mark.timeout(600)
def test_the_disk_fills_up_on_the_way(directory: Path) -> None:
    with small_disk(directory, 290):
        process = quickstart(directory)
        assert process.stdout is not None
        assert any("Producing" in line for line in process.stdout), "it ended before"
        with open(directory / "fill", "wb", buffering=0) as fill, suppress(OSError):
            while fill.write(bytes(1 << 20)) == 1 << 20:
                pass
        output = process.stdout.read()
        assert process.wait() == 1, output
        assert "has no space left. Free some space" in output and "Traceback" not in output
        assert_nothing_runs(directory)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("moment", "number", "whole_group"),
    [
        ("Starting a broker", signal.SIGINT, True),
        ("Starting a consumer group", signal.SIGINT, True),
        ("Producing", signal.SIGTERM, False),
        ("Killing member 1", signal.SIGINT, True),
        ("Counting with Spark", signal.SIGHUP, True),
    ],
)
def test_interrupted(directory: Path, moment: str, number: signal.Signals, whole_group: bool) -> None:
    """By Ctrl-C and a closed terminal, which reach every process of the group, and by `kill`."""
    process = quickstart(directory)
    assert process.stdout is not None
    assert any(moment in line for line in process.stdout), "it ended before"
    time.sleep(1)
    (os.killpg if whole_group else os.kill)(process.pid, number)
    output = process.stdout.read()
    assert process.wait() == 130, output
    assert "quickstart: interrupted" in output
    assert "Traceback" not in output
    assert_nothing_runs(directory)
