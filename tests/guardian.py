"""A process that outlives a run of pytest by a moment, and ends what the run has left: servers of tests that were killed.

The run and all that it starts, however far from it, have a mark in their environments. The guardian waits on a pipe whose other
end the run alone holds: it closes with the run, whatever ends that.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
import uuid

import psutil
import pytest

MARK = "KAFKAPY_TEST_RUN"

_GUARDIAN = pytest.StashKey[subprocess.Popen[bytes]]()


def watch_over_run(config: pytest.Config) -> None:
    """Start the guardian of this run. For `pytest_configure`; workers of pytest-xdist belong to the run that started them."""
    if hasattr(config, "workerinput"):
        return
    os.environ[MARK] = mark = uuid.uuid4().hex
    guardian = subprocess.Popen(
        [sys.executable, __file__, mark],
        stdin=subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if name != MARK and not name.startswith("COVERAGE_")},
        start_new_session=True,
    )
    config.stash[_GUARDIAN] = guardian  # the pipe stays open as long as this
    guardian.returncode = 0  # it is not waited for


def _marked(mark: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def _end_all(mark: str) -> None:
    """Until none is left: one that is about to be killed may have started another."""
    while left := _marked(mark):
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.kill()
        time.sleep(0.05)


if __name__ == "__main__":
    sys.stdin.buffer.read()
    _end_all(sys.argv[1])
