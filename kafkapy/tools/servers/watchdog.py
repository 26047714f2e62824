"""The watchdog of a broker: a process that closes the broker's ZooKeeper session when the broker's process has died.

Without a watchdog the ephemeral nodes of a killed broker (`kill -9`, out of memory, a crash) stay until the session
time-out: for many seconds its partitions have no leader, and a restarted broker waits as long.

Two descriptors connect the processes:

- The *pidfd* of the broker's process becomes readable when the process and all its threads have ended, and not earlier:
  a stopped process, a long pause or a change of a clock have no effect, and a reused process id is not mistaken for it.
  Only this descriptor says that the broker is dead.
- Through the *pipe* the broker announces each new session, and that it has closed its session; the last line counts. A
  closed pipe, or one that a child of the broker keeps open, has no meaning.

The module has both sides: `start` for the broker, `main` for the watchdog's process, which imports very little.
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
"""Time limit for one server; doubled each time all servers were tried in vain."""

MAX_CONNECT_SECONDS = 8.0
PAUSE_SECONDS = 0.2
GIVE_UP_TIMEOUTS = 10
"""The watchdog ends when no server has answered for this many session time-outs. One would suffice while ZooKeeper
works; a ZooKeeper that restarts after an outage gives each session its whole time-out again."""


class Watchdog:
    """The broker's side. It never raises: the watchdog is an addition, without which the broker behaves as Apache's."""

    def __init__(self, pipe: int, pid: int) -> None:
        self.pipe = pipe
        self.pid = pid

    def tell(self, session: Session | None) -> None:
        """Announce the session to close when this process has died; None: the session is closed."""
        line = CLOSED if session is None else session.to_line()
        try:
            os.write(self.pipe, line)  # fewer than PIPE_BUF bytes are written atomically
        except OSError:
            import logging

            logging.getLogger("kafkapy.server.KafkaServer").warning(
                "The watchdog (process %d) is gone: if this broker is killed, its ZooKeeper session stays until it expires",
                self.pid,
            )


def start() -> Watchdog:
    """Start the watchdog of this process. Raises OSError if the system has no pidfd or cannot start a process.

    The watchdog runs in a session of its own, so neither Ctrl-C nor a signal to the broker's process group reaches
    it. It inherits stderr and the two descriptors only, and no other child inherits these two.
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
    process.returncode = 0  # not waited for: the watchdog outlives this process
    return Watchdog(our_end, process.pid)


def _ignore_signals() -> None:
    """Ignore signals from the first moment on, since the disposition is inherited.

    A service manager signals all processes of a service that it stops, and the watchdog must end after the broker.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def main(arguments: list[str]) -> int:
    """The main function of the watchdog's process: `watchdog.py PID PIDFD PIPE`."""
    pid, pidfd, pipe = map(int, arguments)
    session = wait_for_exit(pidfd, pipe)
    if session is not None:
        close(session, pid)
    return 0


def wait_for_exit(pidfd: int, pipe: int) -> Session | None:
    """Wait for the end of the broker's process. Returns its open session; None if it has closed it or never had one."""
    os.set_blocking(pipe, False)
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    poll.register(pipe, select.POLLIN)
    news, dead = b"", False  # the last complete line, and the beginning of the next
    while not dead:
        ready = [descriptor for descriptor, _ in poll.poll()]
        dead = pidfd in ready  # read before the pipe: when the process has ended, all that it wrote is in the pipe
        try:
            while piece := os.read(pipe, 65536):
                news = b"\n".join((news + piece).split(b"\n")[-2:])
            if pipe in ready:
                poll.unregister(pipe)  # the pipe is closed: only the pidfd is watched from now on
        except BlockingIOError:
            pass
    line = news.partition(b"\n")[0] + b"\n"
    return None if line in (b"\n", CLOSED) else Session.from_line(line)


def close(session: Session, pid: int) -> None:
    """Ask one server after the other, until one confirms that the session is closed or expired."""
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
    """Write to the broker's stderr, if that is still open."""
    try:
        os.write(2, f"{time.strftime('[%Y-%m-%d %H:%M:%S]')} watchdog: {text}\n".encode())
    except OSError:
        pass


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
