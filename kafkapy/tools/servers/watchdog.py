"""The watchdog of a broker: when the broker's process has died, it closes the ZooKeeper session that was left behind.

Without it the ephemeral nodes of a broker that was killed (`kill -9`, out of memory, a crash) stay until the session's
time is up, many seconds during which nobody leads its partitions, and a restarted broker waits for the same.

Two descriptors join the processes. The *pidfd* of the broker's process becomes readable when that process has ended,
all its threads, and never before: not while it is stopped, not in a long pause, whatever clocks do; it can't mean
another process with the same number. It alone says "dead". Through the *pipe* the broker tells each new session, and
that it has closed its session: the last line holds. If the pipe's write end is closed, or held open by a child of
the broker, nothing follows from it.

This module is both ends: `start` for the broker, `main` for the process. The latter imports next to nothing.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

from kafkapy.zk.session_closer import Session, close_session

ENABLE_CONFIG = "kafkapy.watchdog.enable"
CLOSED = b"closed\n"

CONNECT_SECONDS = 1.0
"""How long to wait for one server; twice as long each time all servers were tried in vain."""

MAX_CONNECT_SECONDS = 8.0
PAUSE_SECONDS = 0.2
GIVE_UP_TIMEOUTS = 10
"""Without an answer of any server for so many session time-outs the watchdog ends. One would do while ZooKeeper works;
one that comes back after an outage gives each session its full time anew."""


class Watchdog:
    """The broker's end. It never raises: a broker without its watchdog is as good as Apache's."""

    def __init__(self, pipe: int, pid: int) -> None:
        self.pipe = pipe
        self.pid = pid

    def tell(self, session: Session | None) -> None:
        """The session that is to be closed when this process has died; None: closed, nothing is left to do."""
        line = CLOSED if session is None else session.to_line()
        try:
            os.write(self.pipe, line)  # fewer than PIPE_BUF bytes: all or nothing
        except OSError:
            import logging

            logging.getLogger("kafkapy.server.KafkaServer").warning(
                "The watchdog (process %d) is gone: if this broker is killed, its ZooKeeper session stays until it expires",
                self.pid,
            )


def start() -> Watchdog:
    """Start the watchdog of this very process. Raises `OSError` if the system has no pidfd or can't start a process.

    It is in a session of its own: neither Ctrl-C nor a signal to the broker's process group reaches it. No other
    descriptor but stderr goes with it, and neither of these two goes into any other child.
    """
    import subprocess

    import kafkapy

    pidfd = os.pidfd_open(os.getpid())
    pipe, our_end = os.pipe()
    os.set_blocking(our_end, False)
    root = os.path.dirname(os.path.dirname(os.path.abspath(kafkapy.__file__)))
    try:
        process = subprocess.Popen(
            [sys.executable, "-S", "-m", "kafkapy.tools.servers.watchdog", str(os.getpid()), str(pidfd), str(pipe)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": root},
            cwd="/",
            pass_fds=(pidfd, pipe),
            start_new_session=True,
            preexec_fn=_ignore_signals,
        )
    except OSError:
        os.close(our_end)
        raise
    finally:
        os.close(pidfd)
        os.close(pipe)
    process.returncode = 0  # nobody waits for it: it outlives this process
    return Watchdog(our_end, process.pid)


def _ignore_signals() -> None:
    """From its first moment on, since it is inherited: a service manager that stops a service asks all its processes, and
    this one is to end after the broker."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def main(arguments: list[str]) -> int:
    """The process: `watchdog.py PID PIDFD PIPE`."""
    pid, pidfd, pipe = map(int, arguments)
    session = wait_for_death(pidfd, pipe)
    if session is not None:
        close(session, pid)
    return 0


def wait_for_death(pidfd: int, pipe: int) -> Session | None:
    """Returns when the process has ended: the session it has left, None if it has closed it or never had one."""
    os.set_blocking(pipe, False)
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    poll.register(pipe, select.POLLIN)
    news, dead = b"", False  # news: the last whole line and what has come of the next
    while not dead:
        ready = [descriptor for descriptor, _ in poll.poll()]
        dead = pidfd in ready  # before the pipe is read: what the process has told is all there then
        try:
            while piece := os.read(pipe, 65536):
                news = b"\n".join((news + piece).split(b"\n")[-2:])
            if pipe in ready:
                poll.unregister(pipe)  # closed for good: only the pidfd counts
        except BlockingIOError:
            pass
    line = news.partition(b"\n")[0] + b"\n"
    return None if line in (b"\n", CLOSED) else Session.from_line(line)


def close(session: Session, pid: int) -> None:
    """Ask one server after the other until one says that the session is closed or gone."""
    died = time.monotonic()
    timeout, problem = CONNECT_SECONDS, ""
    name = f"ZooKeeper session 0x{session.session_id & 0xFFFFFFFFFFFFFFFF:x} of broker process {pid}"
    while time.monotonic() - died < GIVE_UP_TIMEOUTS * session.timeout_ms / 1000:
        for address in session.addresses():
            try:
                was_open = close_session(session, address, timeout)
            except OSError as error:
                problem = f"{address[0]}:{address[1]}: {error}"
                continue
            took = (time.monotonic() - died) * 1000
            _say(f"{name}, which has died: " + (f"closed after {took:.0f} ms" if was_open else "has ended already"))
            return
        time.sleep(PAUSE_SECONDS)
        timeout = min(2 * timeout, MAX_CONNECT_SECONDS)
    _say(f"{name}, which has died: could not be closed, giving up ({problem})")


def _say(text: str) -> None:
    """To the broker's stderr, if that is still there."""
    try:
        os.write(2, f"{time.strftime('[%Y-%m-%d %H:%M:%S]')} watchdog: {text}\n".encode())
    except OSError:
        pass


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
