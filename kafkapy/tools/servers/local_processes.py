"""Background processes that a later command finds again.

A process is identified by its id and its start time (clock ticks since the machine's start; seconds of the clock
where there is no /proc): ids are reused, such pairs are not.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

POLL_SECONDS = 0.05


class ProcessIdentity(NamedTuple):
    pid: int
    started: int

    @property
    def is_running(self) -> bool:
        return identify(self.pid) == self

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Send a signal; no effect if the process has ended."""
        if self.is_running:
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                pass  # ended since the check


def identify(pid: int) -> ProcessIdentity | None:
    """The process that has this id now; None if there is none, or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None if _has_proc() else _identify_by_ps(pid)
    fields = stat.rpartition(")")[2].split()  # the process name before it may contain any character
    state, started = fields[0], fields[19]
    return None if state in "ZX" else ProcessIdentity(pid, int(started))


def processes_of_user() -> Iterator[tuple[int, list[str]]]:
    """(process id, its command line) of each other process of this user."""
    if not _has_proc():
        yield from _processes_by_ps()
        return
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if entry.stat().st_uid != os.getuid():
                continue
            yield int(entry.name), (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue


def _has_proc() -> bool:
    try:
        with open("/proc/self/stat"):
            return True
    except OSError:  # macOS
        return False


def _ps(*arguments: str) -> list[str]:
    done = subprocess.run(["ps", "-ww", *arguments], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    return done.stdout.splitlines()


def _identify_by_ps(pid: int) -> ProcessIdentity | None:
    for line in _ps("-o", "stat=", "-o", "lstart=", "-p", str(pid)):
        state, _, started = line.strip().partition(" ")
        if state[0] not in "ZX":
            return ProcessIdentity(pid, int(time.mktime(time.strptime(started.strip()))))
    return None


def _processes_by_ps() -> Iterator[tuple[int, list[str]]]:
    """As `processes_of_user`, by ps; arguments with blanks are split."""
    for line in _ps("-U", str(os.getuid()), "-o", "pid=", "-o", "command="):
        pid, *words = line.split()
        if int(pid) != os.getpid():
            yield int(pid), words


def spawn(command: Sequence[str], output: Path, environment: Mapping[str, str]) -> ProcessIdentity:
    """Start a process in a session of its own, with its output in a file; the process outlives this one."""
    with open(output, "ab") as out:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd="/",
            env=dict(environment),
            start_new_session=True,
        )
    identity = identify(process.pid) or ProcessIdentity(process.pid, 0)
    process.returncode = 0  # not waited for
    return identity


def wait_until_ended(processes: Sequence[ProcessIdentity], seconds: float) -> list[ProcessIdentity]:
    """Wait for processes to end; returns those that still run after the time limit."""
    deadline = time.monotonic() + seconds
    while True:
        running = [process for process in processes if process.is_running]
        if not running or time.monotonic() > deadline:
            return running
        time.sleep(POLL_SECONDS)
