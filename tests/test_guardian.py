"""What a run of pytest has started ends with it, even if nothing is left of the run that could end it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.waiting import wait_until

ROOT = Path(__file__).parents[1]

CONFTEST = "from tests.guardian import watch_over_run as pytest_configure\n"

TEST = """
import subprocess, sys, time
from pathlib import Path

def test_starts_something_and_stays():
    started = subprocess.Popen(["sleep", "3600"], start_new_session=True)
    Path("started.tmp").write_text(str(started.pid))
    Path("started.tmp").rename("started")
    {then}
"""


@pytest.mark.integration
@pytest.mark.parametrize(
    ("then", "ended_by"), [("time.sleep(3600)", signal.SIGKILL), ("time.sleep(3600)", signal.SIGINT), ("", None)]
)
def test_nothing_outlives_a_run(tmp_path: Path, then: str, ended_by: signal.Signals | None) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(TEST.format(then=then))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:twisted", str(tmp_path)]
    run = subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COVERAGE_PROCESS_START": ""},
        stdout=subprocess.DEVNULL,
    )
    wait_until((tmp_path / "started").exists)
    started = int((tmp_path / "started").read_text())
    if ended_by is not None:
        run.send_signal(ended_by)
    run.wait()
    wait_until(lambda: not psutil.pid_exists(started) or psutil.Process(started).status() == psutil.STATUS_ZOMBIE)
