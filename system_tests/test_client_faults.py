"""kafkapy's own clients, of all three faces, under faults: nothing acknowledged is lost, nothing comes twice or out of order,
no word to the user.

Two producers and two consumers work; the history of what they saw is judged by `checker`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from kafkapy import KafkaConsumer, KafkaProducer
from kafkapy.common.free_ports import free_ports
from system_tests.clients import create_topic
from system_tests.conftest import NewBroker, Note, Progress
from system_tests.proxy import Proxy
from system_tests.recording_asyncio import AsyncioConsumer, AsyncioProducer
from system_tests.recording_clients import RecordingConsumer, RecordingProducer
from system_tests.recording_twisted import TwistedConsumer, TwistedProducer
from system_tests.services import HOST, KafkaService, Service, ZooKeeperService
from system_tests.workload import Workload

Start = Callable[..., Workload]


@pytest.fixture
def line(new_broker: NewBroker) -> Iterator[tuple[KafkaService, Proxy]]:
    """A running broker whose clients reach it through a proxy only (which it advertises); it reaches itself without."""
    broker = new_broker()
    (port,) = free_ports(1)
    proxy = Proxy((HOST, port))
    broker.properties |= {
        "listeners": f"PLAINTEXT://{broker.address},CLIENTS://{HOST}:{port}",
        "advertised.listeners": f"PLAINTEXT://{broker.address},CLIENTS://{HOST}:{proxy.port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CLIENTS:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
    }
    broker.start()
    yield broker, proxy
    proxy.close()


FACES = {
    "blocking": (RecordingProducer, RecordingConsumer),
    "asyncio": (AsyncioProducer, AsyncioConsumer),
    "twisted": (TwistedProducer, TwistedConsumer),
}


@pytest.fixture(params=[face if face == "blocking" else pytest.param(face, marks=pytest.mark.long) for face in FACES])
def start(request: pytest.FixtureRequest) -> Iterator[Start]:
    """Starts a workload of the clients of one face, which ends with the test at the latest."""
    started: list[Workload] = []

    def start(bootstrap: str, records_per_second: int = 300) -> Workload:
        kinds = FACES[request.param]
        started.append(Workload(bootstrap, records_per_second=records_per_second, kinds=kinds))
        return started[-1].start()

    yield start
    for workload in started:
        workload.abandon()


def judged(work: Workload, tmp_path: Path, note: Note, bootstrap: str | None = None) -> None:
    note("settled after", f"{work.wait_until_settled():.1f} s")
    verdict = work.judge(tmp_path, bootstrap=bootstrap)
    note("history", f"{verdict.acknowledged:,} acknowledged, {verdict.polled:,} polled, no anomaly")


def test_clients_under_kill_and_cut_connections(
    line: tuple[KafkaService, Proxy], start: Start, tmp_path: Path, note: Note
) -> None:
    """The short one: a bit of everything."""
    broker, proxy = line
    work = start(f"{HOST}:{proxy.port}")
    proxy.cut()
    work.wait_for_progress()
    broker.hard_bounce()
    work.wait_for_progress()
    proxy.half_close()
    work.wait_for_progress()
    judged(work, tmp_path, note)


@pytest.mark.long
def test_clients_under_kills(
    broker: KafkaService, start: Start, tmp_path: Path, note: Note, progress: Progress
) -> None:
    work = start(broker.bootstrap, records_per_second=1000)
    slowest = 0.0
    for kill in range(5):
        broker.hard_bounce()
        slowest = max(slowest, work.wait_for_progress(300))
        progress(f"kill {kill + 1} of 5: {work.acknowledged:,} records acknowledged")
    note("slowest recovery", f"{slowest:.1f} s")
    judged(work, tmp_path, note)


@pytest.mark.long
def test_clients_under_clean_bounces(broker: KafkaService, start: Start, tmp_path: Path, note: Note) -> None:
    work = start(broker.bootstrap)
    for _ in range(3):
        broker.clean_bounce()
        work.wait_for_progress()
    judged(work, tmp_path, note)


@pytest.mark.long
def test_clients_while_the_broker_is_away(broker: KafkaService, start: Start, tmp_path: Path, note: Note) -> None:
    """For longer than a request may take and the group's sessions last."""
    work = start(broker.bootstrap)
    broker.hard_kill()
    time.sleep(15)
    broker.start()
    note("progress after", f"{work.wait_for_progress():.1f} s")
    judged(work, tmp_path, note)


@pytest.mark.long
@pytest.mark.parametrize("seconds", [3, 12])
def test_clients_while_the_broker_stands_still(
    broker: KafkaService, seconds: int, start: Start, tmp_path: Path, note: Note
) -> None:
    """SIGSTOP, for less and for more than a request may take (5 s) and the group's sessions last (6 s)."""
    work = start(broker.bootstrap)
    for _ in range(2):
        with broker.paused():
            time.sleep(seconds)
        note("progress after", f"{work.wait_for_progress():.1f} s")
    judged(work, tmp_path, note)


@pytest.mark.long
def test_clients_under_zookeeper_restarts(
    broker: KafkaService, zookeeper: ZooKeeperService, start: Start, tmp_path: Path, note: Note
) -> None:
    work = start(broker.bootstrap)
    for _ in range(2):
        zookeeper.hard_bounce()
        work.wait_for_progress()
    broker.expire_session()
    work.wait_for_progress()
    judged(work, tmp_path, note)


@pytest.mark.long
@pytest.mark.parametrize("fault", ["cut", "cut within a response", "half-close", "stall", "freeze", "all of them"])
def test_clients_on_a_bad_line(
    line: tuple[KafkaService, Proxy], fault: str, start: Start, tmp_path: Path, note: Note, progress: Progress
) -> None:
    """Connections are reset, end in the middle of a response, half-close, or swallow everything."""
    _, proxy = line
    chance = Random(fault)
    work = start(f"{HOST}:{proxy.port}")
    faults: dict[str, Callable[[], object]] = {
        "cut": proxy.cut,
        "cut within a response": lambda: proxy.cut_after(chance.randrange(1, 2000)),
        "half-close": proxy.half_close,
        "stall": proxy.stall,
        "freeze": lambda: freeze(proxy, 7),
    }
    slow = {"stall", "freeze"}
    slowest = 0.0
    for number in range(4 if fault in slow else 10):
        name = chance.choice(list(faults)) if fault == "all of them" else fault
        faults[name]()
        slowest = max(slowest, work.wait_for_progress(30))
        time.sleep(chance.random() / 2)
        progress(f"{number + 1}: {name}, {work.acknowledged:,} records acknowledged")
    note("slowest recovery", f"{slowest:.1f} s")
    judged(work, tmp_path, note)


def freeze(proxy: Proxy, seconds: float) -> None:
    proxy.freeze()
    try:
        time.sleep(seconds)
    finally:
        proxy.thaw()


@pytest.mark.long
def test_clients_on_a_slow_line(line: tuple[KafkaService, Proxy], start: Start, tmp_path: Path, note: Note) -> None:
    """100 ms each way and 3 Mbit/s, and then a cut in every second."""
    _, proxy = line
    proxy.delay, proxy.rate = 0.1, 3_000_000 / 8
    work = start(f"{HOST}:{proxy.port}", records_per_second=200)
    for _ in range(8):
        time.sleep(1)
        proxy.cut()
    note("progress after", f"{work.wait_for_progress():.1f} s")
    proxy.delay = proxy.rate = 0.0
    judged(work, tmp_path, note)


@pytest.mark.long
def test_metadata_changes_under_clients(broker: KafkaService, start: Start, tmp_path: Path, note: Note) -> None:
    """Topics come, grow and go; the broker comes back at another address, known from a second bootstrap server."""
    (spare,) = free_ports(1)
    work = start(f"{broker.bootstrap},{HOST}:{spare}")
    for number in range(5):
        create_topic(broker.bootstrap, f"other-{number}", 3)
        work.wait_for_progress(30)
    broker.clean_shutdown()
    broker.port = spare
    broker.start()
    note("progress after the move", f"{work.wait_for_progress():.1f} s")
    judged(work, tmp_path, note)


@pytest.mark.long
def test_clients_start_before_the_broker(new_broker: NewBroker, services: list[Service], tmp_path: Path) -> None:
    """They wait for it as long as bootstrap_timeout_ms says."""
    broker = new_broker()
    broker.start(wait=False)
    with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
        create_topic(broker.bootstrap, "early")
        assert producer.send("early", b"bird").get(timeout=30).offset == 0
    with KafkaConsumer("early", bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest") as consumer:
        assert next(consumer).value == b"bird"
