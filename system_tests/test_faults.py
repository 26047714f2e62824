"""The broker stands still, clients vanish, the disk is full."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from system_tests.checks import check_log
from system_tests.clients import AckedProducer, create_topic, read_topic
from system_tests.conftest import NewBroker, Note
from system_tests.load import Load
from system_tests.raw import fetch_request, hang_up_rudely
from system_tests.services import HOST, KafkaService, wait_until


def test_pause(broker: KafkaService, short: bool, note: Note) -> None:
    """SIGSTOP for longer than the ZooKeeper session lives and clients wait for answers."""
    load = Load(broker.bootstrap, "steady")
    epoch = broker.wait_until_registered()
    seconds = 4 if short else 10
    with broker.paused():
        time.sleep(seconds)
    load.wait_for_both(500)
    assert broker.wait_until_registered(after_epoch=epoch) > epoch
    create_topic(broker.bootstrap, "after-the-pause")
    note("pause", f"{seconds} s")
    note("records", f"{load.check(consumed_once=False):,}")


def test_clients_vanish(broker: KafkaService, short: bool, note: Note) -> None:
    """Connections are reset in the middle of requests and of responses, and while fetches wait."""
    load = Load(broker.bootstrap, "steady")
    create_topic(broker.bootstrap, "fetched")
    producer = AckedProducer(broker.bootstrap, "fetched")
    producer.send(20000)
    memory = broker.memory
    waiting = fetch_request("fetched", offset=20000, max_wait_ms=60000)
    large = fetch_request("fetched", offset=0)
    rounds = 3 if short else 30
    for _ in range(rounds):
        connections = []
        for request in (waiting, large, large[: len(large) // 2], large * 20):
            for _ in range(10):
                connection = socket.create_connection((HOST, broker.port))
                connection.sendall(request)
                connections.append(connection)
        time.sleep(0.1)
        for connection in connections:
            hang_up_rudely(connection)
    load.wait_for_both(500)
    check_log(producer, read_topic(broker.bootstrap, "fetched"), exactly_once=True)
    wait_until(lambda: _connections(broker) < 20, 10, "the broker has let go of the connections")
    growth = broker.memory - memory
    assert growth < 50 << 20, f"the broker's memory has grown by {growth >> 20} MB"
    note("vanished connections", rounds * 40)
    note("memory", f"{growth / (1 << 20):+.0f} MB")
    load.check()


def _connections(broker: KafkaService) -> int:
    return sum(c.laddr and c.laddr.port == broker.port for c in psutil.Process(broker.pid).net_connections("tcp"))


@contextlib.contextmanager
def small_disk(path: Path, megabytes: int) -> Iterator[None]:
    """A file system of its own; skips the test where it can't be had."""
    path.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "kafkapy-test", str(path)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root can mount a small file system")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def make_room(path: Path, megabytes: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={megabytes}m", str(path)], check=True)


def fill(broker: KafkaService, topic: str) -> AckedProducer:
    """Produce until the broker takes no more; returns the producer, whose last records have failed."""
    producer = AckedProducer(
        broker.bootstrap, topic, records_per_second=100_000, message_timeout_ms=1500, request_timeout_ms=1000
    ).start()
    wait_until(lambda: bool(producer.failures), 60, f"a record of {topic} fails")
    producer.stop()
    return producer


def test_one_of_two_disks_is_full(new_broker: NewBroker, tmp_path: Path, note: Note) -> None:
    """Its partitions go offline, the others stay; with room again and a restart nothing acknowledged is missing."""
    small = tmp_path / "small"
    with small_disk(small, 8):
        broker = new_broker({"log.dirs": f"{tmp_path / 'large'},{small / 'data'}"})
        broker.start()
        create_topic(broker.bootstrap, "one")
        create_topic(broker.bootstrap, "two")
        full, other = ("one", "two") if (small / "data" / "one-0").exists() else ("two", "one")
        filled = fill(broker, full)
        assert broker.is_running
        assert "No space left on device" in broker.text()
        healthy = AckedProducer(broker.bootstrap, other, enable_idempotence="false")
        healthy.send(500)

        make_room(small, 64)
        broker.clean_bounce()
        check_log(filled, read_topic(broker.bootstrap, full), exactly_once=False)
        check_log(healthy, read_topic(broker.bootstrap, other), exactly_once=True)
        again = AckedProducer(broker.bootstrap, full, enable_idempotence="false")
        again.send(100)
        assert len(again.acked[0]) == 100
        note("records until full", f"{filled.acknowledged:,}")
        broker.close()


@pytest.mark.long
def test_only_disk_is_full(new_broker: NewBroker, tmp_path: Path, note: Note) -> None:
    """The broker ends, saying why, rather than go on without a log."""
    small = tmp_path / "small"
    with small_disk(small, 8):
        broker = new_broker({"log.dirs": small / "data"})
        broker.start()
        create_topic(broker.bootstrap, "only")
        filled = fill(broker, "only")
        wait_until(lambda: not broker.is_running, 30, "the broker ends")
        assert broker.process is not None and broker.process.returncode not in (0, None)
        assert "No space left on device" in broker.text()
        broker.close()

        make_room(small, 64)
        broker.start()
        check_log(filled, read_topic(broker.bootstrap, "only"), exactly_once=False)
        note("records until full", f"{filled.acknowledged:,}")
        broker.close()
