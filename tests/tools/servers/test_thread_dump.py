from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkapy import KafkaProducer
from kafkapy.tools.servers.thread_dump import thread_dump
from tests.broker_process import BrokerProcess
from tests.waiting import HANG_SECONDS

DUMPS = 20
BUSY = """
import threading, zlib
from kafkapy.tools.servers.thread_dump import dump_on_sigquit

dump_on_sigquit()

def recurse(depth):
    return recurse(depth - 1) if depth else zlib.crc32(bytes(1_000_000))

def churn():
    while True:
        recurse(50)

for _ in range(4):
    threading.Thread(target=churn).start()
print("ready", flush=True)
"""


def wait_until_said(output: Path, word: str, count: int) -> str:
    deadline = time.monotonic() + HANG_SECONDS
    while (said := output.read_text()).count(word) < count:
        assert time.monotonic() < deadline, said[-4000:]
        time.sleep(0.01)
    return said


def test_each_thread_is_shown_with_its_calls() -> None:
    release, blocked = threading.Event(), threading.Event()

    def wait_here() -> None:
        blocked.set()
        release.wait()

    thread = threading.Thread(target=wait_here, name="stuck", daemon=True)
    thread.start()
    blocked.wait()
    dump = thread_dump()
    release.set()
    assert dump.splitlines()[1].startswith("Full thread dump kafkapy (Python 3.")
    stuck = dump.split('"stuck" daemon id=')[1].split("\n\n")[0]
    assert stuck.index("in Event.wait") < stuck.index("wait_here") < stuck.index("in Thread._bootstrap")
    assert "test_each_thread_is_shown_with_its_calls" in dump.split('"MainThread"')[1]


@pytest.mark.integration
def test_threads_that_run_are_dumped_while_the_main_thread_waits_in_c(tmp_path: Path) -> None:
    """The main thread waits for the others in `Thread.join`, where no signal handler of Python would run."""
    with open(tmp_path / "out", "wb") as out:
        process = subprocess.Popen([sys.executable, "-c", BUSY], stdout=out, stderr=out)
    try:
        wait_until_said(tmp_path / "out", "ready", 1)
        for number in range(DUMPS):
            process.send_signal(signal.SIGQUIT)
            said = wait_until_said(tmp_path / "out", "Full thread dump", number + 1)
        assert process.poll() is None, said[-4000:]
        assert "in recurse" in said
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def broker(zookeeper: str, tmp_path: Path) -> Iterator[BrokerProcess]:
    broker = BrokerProcess(tmp_path, f"{zookeeper}/dump-{time.time_ns()}", num_partitions="50")
    broker.start()
    yield broker
    if broker.process is not None:
        broker.process.kill()
        broker.process.wait()


@pytest.mark.integration
def test_a_broker_is_dumped_under_load_and_while_it_starts_and_goes_on(broker: BrokerProcess) -> None:
    assert broker.process is not None
    with KafkaProducer(bootstrap_servers=broker.address) as producer:
        for number in range(DUMPS):
            for i in range(2000):
                producer.send("t", b"%d" % i)
            broker.process.send_signal(signal.SIGQUIT)
            wait_until_said(broker.output, "Full thread dump", number + 1)
        producer.flush()
    os.kill(broker.process.pid, signal.SIGKILL)
    broker.process.wait()
    process = broker.launch()  # which has to recover its logs
    said = broker.output.stat().st_size
    while b"started (kafkapy.server.KafkaServer)" not in (news := broker.output.read_bytes()[said:]):
        assert process.poll() is None, news[-4000:]
        if b"KafkaConfig values" in news:
            process.send_signal(signal.SIGQUIT)
        time.sleep(0.01)
    assert news.count(b"Full thread dump") > 5
    assert broker.stop() == 0
