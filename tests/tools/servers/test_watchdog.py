"""The watchdog as a process: who dies, who only pauses, what ZooKeeper is left with."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from kazoo.client import KazooClient

from kafkapy.tools.servers import kafka_server as kafka_server_start
from kafkapy.tools.servers import kafka_server_stop, watchdog
from kafkapy.zk.session_closer import Session
from tests.broker_process import BrokerProcess
from tests.waiting import HANG_SECONDS, wait_until
from tests.zookeeper_server import ZooKeeperServer

ROOT = Path(__file__).resolve().parents[3]

HOLDER = """
import os, sys, threading
from kafkapy.tools.servers import watchdog
from kafkapy.zk.requests import Create
from kafkapy.zk.zookeeper_client import ZooKeeperClient

dog = watchdog.start()
client = ZooKeeperClient(sys.argv[1], 60_000, on_session=dog.tell)
client.start(20_000)
client.handle_requests([Create("/holder-%d" % os.getpid(), b"", ephemeral=True)])
print(dog.pid, client.session_id, flush=True)
for line in sys.stdin:
    if line == "close\\n":
        client.close()
        break
    if line == "fork\\n":
        if not os.fork():
            os.setsid()
            os.close(1)
            threading.Event().wait()
        print("forked", flush=True)
"""
"""A process that holds a session as a broker does. It takes orders on stdin."""


class Holder:
    def __init__(self, servers: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, servers], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.dog_pid, self.session_id = map(int, self.process.stdout.readline().split())
        self.dog = psutil.Process(self.dog_pid)
        self.path = f"/holder-{self.process.pid}"

    def order(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def wait_until_dog_ended(self) -> None:
        wait_until(lambda: not self.dog_is_running())

    def dog_is_running(self) -> bool:
        try:
            return self.dog.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    def was_closed(self) -> bool:
        """Has the watchdog closed the session, once it has ended?"""
        return f"session 0x{self.session_id:x} of broker process" in (said := self.said()) and "closed after" in said

    def said(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read()


Hold = Callable[..., Holder]


@pytest.fixture
def hold(zookeeper: str) -> Iterator[Hold]:
    """Starts holders, of a session with these servers; what is left of them ends with the test."""
    holders: list[Holder] = []

    def hold(servers: str = zookeeper) -> Holder:
        holders.append(Holder(servers))
        return holders[-1]

    yield hold
    for holder in holders:
        holder.kill()


@pytest.fixture
def observer(zookeeper: str) -> Iterator[KazooClient]:
    client = KazooClient(zookeeper)
    client.start()
    yield client
    client.stop()
    client.close()


@pytest.mark.integration
class TestAgainstZooKeeper:
    def test_killed(self, hold: Hold, zookeeper: str, observer: KazooClient) -> None:
        """The ephemeral node goes at once; the first server of the list is not there."""
        holder = hold(f"127.0.0.1:1,{zookeeper}")
        assert observer.exists(holder.path)
        memory = holder.dog.memory_info()
        assert memory.rss - memory.shared < 8 * 1024 * 1024, (
            "its own; how much of Python's files is there, the kernel decides"
        )
        assert holder.dog_pid not in {broker.process.pid for broker in kafka_server_stop.brokers()}
        holder.kill()
        holder.wait_until_dog_ended()
        assert observer.exists(holder.path) is None
        assert holder.was_closed()

    def test_a_chroot(self, hold: Hold, zookeeper: str, observer: KazooClient) -> None:
        observer.ensure_path("/a/chroot")
        holder = hold(f"{zookeeper}/a/chroot")
        assert observer.exists(f"/a/chroot{holder.path}")
        holder.kill()
        holder.wait_until_dog_ended()
        assert observer.exists(f"/a/chroot{holder.path}") is None
        assert holder.was_closed()

    def test_closed(self, hold: Hold, observer: KazooClient) -> None:
        """An orderly end: the watchdog ends too and says nothing."""
        holder = hold()
        holder.order("close")
        assert holder.process.wait(HANG_SECONDS) == 0
        holder.wait_until_dog_ended()
        assert holder.said() == ""

    def test_stopped_and_continued(self, hold: Hold, observer: KazooClient) -> None:
        """SIGSTOP is no death, nor are signals to the process group or to the watchdog."""
        holder = hold()
        os.kill(holder.process.pid, signal.SIGSTOP)
        wait_until(lambda: psutil.Process(holder.process.pid).status() == psutil.STATUS_STOPPED)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(holder.dog_pid, number)
        time.sleep(0.3)
        assert observer.exists(holder.path)
        assert holder.dog_is_running()
        os.kill(holder.process.pid, signal.SIGCONT)
        time.sleep(0.1)
        assert observer.exists(holder.path)
        os.killpg(holder.process.pid, signal.SIGKILL)
        holder.process.wait()
        holder.wait_until_dog_ended()
        assert observer.exists(holder.path) is None
        assert holder.was_closed()

    def test_a_child_that_holds_the_pipe(self, hold: Hold, observer: KazooClient) -> None:
        holder = hold()
        holder.order("fork")
        assert holder.process.stdout is not None
        assert holder.process.stdout.readline() == "forked\n"
        (child,) = (p for p in psutil.Process(holder.process.pid).children() if p.pid != holder.dog_pid)
        try:
            holder.kill()
            holder.wait_until_dog_ended()
            assert observer.exists(holder.path) is None
        finally:
            child.kill()
        assert holder.was_closed()

    def test_zookeeper_comes_back(self, hold: Hold, tmp_path: Path) -> None:
        """It is away when the holder is killed, and starts again later: sessions get their full time then."""
        server = ZooKeeperServer(tmp_path / "zk")
        server.start()
        holder = hold(server.address)
        server.stop()
        holder.kill()
        time.sleep(0.5)
        assert holder.dog_is_running()
        server.start()
        client = KazooClient(server.address)
        try:
            client.start()
            holder.wait_until_dog_ended()
            assert client.exists(holder.path) is None
            assert holder.was_closed()
        finally:
            client.stop()
            client.close()
            server.stop()


class Pipes:
    """Stands in for a process: `dead` makes the pidfd readable, `told` goes through the pipe."""

    def __init__(self) -> None:
        self.pidfd, self._death = os.pipe()
        self.pipe, self._news = os.pipe()

    def tell(self, *lines: bytes) -> None:
        for line in lines:
            os.write(self._news, line)

    def close_pipe(self) -> None:
        os.close(self._news)

    def die(self) -> None:
        os.close(self._death)

    def outcome(self) -> Session | None:
        return watchdog.wait_for_exit(self.pidfd, self.pipe)


FIRST = Session(7, b"first", 18_000, "a:1,b:2/chroot")
SECOND = Session(-8, b"\x00 \n", 6_000, "a:1")


@pytest.mark.parametrize(
    ("told", "left"),
    [
        ((), None),
        ((FIRST.to_line(),), FIRST),
        ((FIRST.to_line(), SECOND.to_line()), SECOND),
        ((FIRST.to_line(), watchdog.CLOSED), None),
        ((watchdog.CLOSED, SECOND.to_line()), SECOND),
        ((FIRST.to_line()[:9], FIRST.to_line()[9:], SECOND.to_line()[:9]), FIRST),
        ((FIRST.to_line() * 2000,), FIRST),
    ],
)
@pytest.mark.parametrize("pipe_is_closed", [True, False])
def test_the_last_line_holds(told: tuple[bytes, ...], left: Session | None, pipe_is_closed: bool) -> None:
    process = Pipes()
    os.set_blocking(process._news, False)
    process.tell(*(line[:60_000] for line in told))
    if pipe_is_closed:
        process.close_pipe()
    process.die()
    outcome = process.outcome()
    assert (outcome and outcome.to_line()) == (left and left.to_line())


def test_a_process_that_lives() -> None:
    """Whatever comes or ends on the pipe, and if the process is stopped: nothing happens before it has ended."""
    process = subprocess.Popen(["sleep", "60"])
    pidfd = os.pidfd_open(process.pid)
    reader, writer = os.pipe()
    outcome: list[Session | None] = []
    thread = threading.Thread(target=lambda: outcome.append(watchdog.wait_for_exit(pidfd, reader)))
    thread.start()
    for provoke in (
        lambda: os.write(writer, FIRST.to_line() + SECOND.to_line()[:5]),
        lambda: process.send_signal(signal.SIGSTOP),
        lambda: os.close(writer),
        lambda: process.send_signal(signal.SIGCONT),
    ):
        provoke()
        thread.join(0.03)
        assert thread.is_alive()
    process.kill()
    thread.join(HANG_SECONDS)
    assert outcome[0] is not None
    assert outcome[0].to_line() == FIRST.to_line()
    process.wait()


def test_gives_up(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Without ZooKeeper: after ten times the session's time, with the reason."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    tried: list[float] = []

    def refuse(session: Session, address: tuple[str, int], timeout: float) -> bool:
        tried.append(timeout)
        raise ConnectionRefusedError("refused")

    monkeypatch.setattr(watchdog, "close_session", refuse)
    watchdog.close(Session(1, b"", 1_000, "a:1,b:2"), 5)
    assert 9.9 < now[0] < 10.4
    assert tried[:6] == [1.0, 1.0, 2.0, 2.0, 4.0, 4.0]
    assert max(tried) == 8.0
    assert "could not be closed, giving up (b:2: refused)" in capfd.readouterr().err


def test_a_watchdog_that_is_gone(caplog: pytest.LogCaptureFixture) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    watchdog.Watchdog(writer, 77).tell(FIRST)
    os.close(writer)
    assert "The watchdog (process 77) is gone" in caplog.text


@pytest.mark.integration
class TestOfABroker:
    def test_killed_and_started_again(self, zk_connect: str, observer: KazooClient, tmp_path: Path) -> None:
        broker = BrokerProcess(tmp_path, zk_connect, controlled_shutdown_enable="false")
        broker.start()
        path = f"{zk_connect[zk_connect.index('/') :]}/brokers/ids/0"
        assert broker.process is not None
        broker.process.kill()
        broker.process.wait()
        wait_until(lambda: observer.exists(path) is None)
        broker.start()
        assert observer.exists(path)
        assert broker.stop() == 0
        assert broker.log().count("watchdog:") == 1

    def test_switched_off(self, zk_connect: str, observer: KazooClient, tmp_path: Path) -> None:
        broker = BrokerProcess(
            tmp_path, zk_connect, kafkapy_watchdog_enable="false", controlled_shutdown_enable="false"
        )
        broker.start()
        assert broker.process is not None
        assert psutil.Process(broker.process.pid).children() == []
        assert "not used yet" not in broker.log()
        assert broker.stop() == 0


def test_the_switch_is_a_boolean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "server.properties").write_text("kafkapy.watchdog.enable=maybe\n")
    assert kafka_server_start.main([str(tmp_path / "server.properties")]) == 1
    assert capsys.readouterr().err == (
        "Invalid value maybe for configuration kafkapy.watchdog.enable: Expected value to be either true or false\n"
    )
