"""A thread dump on SIGQUIT, as a JVM prints it on its stdout: the stack of each thread; the process continues.

A thread of its own waits for the signal; in all others the signal is blocked. It reads the frames under the
interpreter's lock and needs no help of a blocked thread: a thread that waits in C (for a disk, a lock) has released
the lock. A thread that keeps the lock in machine code delays the dump until it releases it, and is shown at its last
line of plain Python.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from types import FrameType

from kafkapy import compiled
from kafkapy.runtime import garbage


def dump_on_sigquit() -> None:
    """Enable thread dumps. Call it before other threads start, so that they inherit the blocked signal."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGQUIT})
    threading.Thread(target=_serve, name="Signal Dispatcher", daemon=True).start()


def thread_dump() -> str:
    """The threads by name, those of Python in the order of their start, with the innermost call first."""
    names = {thread.ident: thread for thread in threading.enumerate()}
    parts = [f"{time.strftime('%Y-%m-%d %H:%M:%S')}\nFull thread dump kafkapy (Python {sys.version.split()[0]}):"]
    if compiled.is_used():
        parts.append("(The hot paths are machine code, whose calls are not shown.)")
    for ident, calls in _stacks().items():
        thread = names.get(ident)
        title = f'"{thread.name}"{" daemon" * thread.daemon}' if thread else '"unknown to Python"'
        native = f" nid={thread.native_id}" if thread else ""
        parts.append("\n".join([f"{title} id={ident}{native}", *calls]))
    return "\n\n".join(parts) + "\n\n"


def _stacks() -> dict[int, list[str]]:
    """The frames of each thread by its id. A garbage collection within `_current_frames` can block older Pythons
    (gh-106883)."""
    with garbage.paused():
        frames = sys._current_frames()
    stacks: dict[int, list[str]] = {}
    for ident, top in frames.items():
        calls = []
        frame: FrameType | None = top
        while frame is not None:
            calls.append(f'  File "{frame.f_code.co_filename}", line {frame.f_lineno}, in {frame.f_code.co_qualname}')
            frame = frame.f_back
        stacks[ident] = calls
    return stacks


def _serve() -> None:
    while True:
        signal.sigwait({signal.SIGQUIT})
        with contextlib.suppress(OSError, ValueError):  # stdout is closed
            print(thread_dump(), end="", flush=True)
