"""A server whose objects can be counted while it runs.

    python -m system_tests.counted_process FILE MODULE ARGUMENTS...

It is MODULE's `main` with the arguments. When FILE.wanted appears, a thread writes to FILE, as JSON, how many objects of kafkapy,
sockets and timers there are, by type, and how many threads and descriptors. Cancelled timers are not counted: they stay in their
queue until they are due. At a SIGUSR1 the stacks of all threads are written to stderr.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from importlib import import_module
from pathlib import Path

import psutil
from twisted.internet.base import DelayedCall

from kafkapy.clients.selector_loop import LoopTimer

THREADS, DESCRIPTORS, RESIDENT = "threads", "descriptors", "resident bytes"
_OTHERS = ("socket.socket", "threading.Thread", "threading.Timer", "twisted.internet.base.DelayedCall")


def alive() -> Counter[str]:
    gc.collect()
    counted: Counter[str] = Counter()
    for item in gc.get_objects():
        name = f"{type(item).__module__}.{type(item).__qualname__}"
        if (name.startswith("kafkapy.") or name in _OTHERS) and not _is_cancelled(item):
            counted[name] += 1
    process = psutil.Process()
    counted[THREADS] = threading.active_count()
    counted[DESCRIPTORS] = process.num_fds()
    counted[RESIDENT] = process.memory_info().rss
    return counted


def _is_cancelled(item: object) -> bool:
    if isinstance(item, LoopTimer):
        return item.f is None
    return isinstance(item, DelayedCall) and not item.active()


def _count(file: Path) -> None:
    wanted, new = wanted_file(file), file.with_suffix(".new")
    while True:
        time.sleep(0.05)
        if wanted.exists():
            wanted.unlink()
            new.write_text(json.dumps(alive()))
            os.replace(new, file)


def wanted_file(file: Path) -> Path:
    return file.with_name(f"{file.name}.wanted")


def main(file: str, module: str, *arguments: str) -> int:
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    threading.Thread(target=_count, args=(Path(file),), daemon=True).start()
    status: int = import_module(module).main(list(arguments))
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
