"""Limits of the system that a running process comes under for a while: open files, and time on the processors."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PERIOD_US = 100_000
"""Of the quota; the kernel's own default."""

_CGROUPS = Path("/sys/fs/cgroup")


class NoLimit(Exception):
    """The machine does not let us set this limit."""


@contextmanager
def few_descriptors(pid: int, spare: int) -> Iterator[None]:
    """The process may open `spare` descriptors more than it has now (`ulimit -n`). Only the soft limit is touched."""
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir(f"/proc/{pid}/fd"))
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (min(highest + 1 + spare, before[1]), before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


@contextmanager
def share_of_a_core(pid: int, share: float) -> Iterator[None]:
    """The process gets this part of one processor's time (a cgroup of its own, of version 1 or 2).

    Raises `NoLimit` where none can be made.
    """
    controller = _CGROUPS if (_CGROUPS / "cgroup.controllers").exists() else _CGROUPS / "cpu"
    home = controller / _group_of(pid).lstrip("/")
    group = controller / f"kafkapy-system-test-{pid}"
    quota = int(share * PERIOD_US)
    try:
        group.mkdir()
    except OSError as error:
        raise NoLimit(f"no cgroup can be made in {controller}: {error.strerror}") from error
    try:
        if controller == _CGROUPS:
            (group / "cpu.max").write_text(f"{quota} {PERIOD_US}")
        else:
            (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (group / "cpu.cfs_quota_us").write_text(str(quota))
        (group / "cgroup.procs").write_text(str(pid))
    except OSError as error:
        group.rmdir()
        raise NoLimit(f"{group} takes no quota: {error.strerror}") from error
    try:
        yield
    finally:
        if Path(f"/proc/{pid}").exists():
            (home / "cgroup.procs").write_text(str(pid))
        group.rmdir()


def _group_of(pid: int) -> str:
    """Where it is now, below the root of version 2 or of the cpu controller of version 1."""
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers or "cpu" in controllers.split(","):
            return path
    return "/"
