"""A broker on a damaged log dir ends with status 1 and a sentence before it registers, or serves all that is intact."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from system_tests.checks import check_log
from system_tests.clients import AckedProducer, create_topic, read_topic
from system_tests.conftest import NewBroker
from system_tests.services import KafkaService

TOPIC = "t"
SMALL_SEGMENTS = {"segment.bytes": 1 << 16, "index.interval.bytes": 1024}

Damage = Callable[[KafkaService], None]


def _produced(new_broker: NewBroker) -> tuple[KafkaService, AckedProducer]:
    broker = new_broker()
    broker.start()
    create_topic(broker.bootstrap, TOPIC, configs=SMALL_SEGMENTS)
    producer = AckedProducer(broker.bootstrap, TOPIC, compression_type="none", batch_num_messages=50)
    producer.send(3000)
    return broker, producer


def _text(name: str, content: str) -> Damage:
    return lambda broker: _write(broker.data / name, content.encode())


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _random_indexes(broker: KafkaService) -> None:
    generator = random.Random(5)
    for path in broker.partition_dir(TOPIC).glob("*.*index"):
        path.write_bytes(generator.randbytes(path.stat().st_size))


def _zeros_at_the_end(broker: KafkaService) -> None:
    active = max(broker.partition_dir(TOPIC).glob("*.log"))
    os.truncate(active, active.stat().st_size + 65536)


def _a_future_log_beside(broker: KafkaService) -> None:
    future = broker.data / f"{TOPIC}-0.{'0' * 32}-future"
    future.mkdir()
    (future / "00000000000000000000.log").touch()


REFUSED: dict[str, tuple[Damage, str]] = {
    "leader epochs": (_text("t-0/leader-epoch-checkpoint", "0\n1\n0 zero\n"), "t-0/leader-epoch-checkpoint"),
    "topic id": (_text("t-0/partition.metadata", "version: 0\ntopic_id: x"), "t-0/partition.metadata"),
    "log start offsets": (_text("log-start-offset-checkpoint", "0\n1\nt 0 x\n"), "log-start-offset-checkpoint"),
    "high watermarks": (_text("replication-offset-checkpoint", "nonsense"), "replication-offset-checkpoint"),
    "broker": (_text("meta.properties", "version=9\nbroker.id=0\n"), "meta.properties"),
    "zeros": (_zeros_at_the_end, "t-0/"),
    "foreign file": (_text("t-0/foo.log", ""), "foo.log"),
}
SERVED: dict[str, Damage] = {"indexes": _random_indexes, "future": _a_future_log_beside}


@pytest.mark.parametrize("name", REFUSED)
def test_a_damage_that_is_refused(new_broker: NewBroker, name: str) -> None:
    damage, where = REFUSED[name]
    broker, _ = _produced(new_broker)
    broker.clean_shutdown()
    damage(broker)
    broker.start(wait=False)
    assert broker.process is not None
    try:
        status = broker.process.wait(60)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"it goes on:\n{broker.tail()}") from None
    said = broker.text()
    assert (status, "Registered broker" in said, "Traceback" in said) == (1, False, False), broker.tail(40)
    last_words = next(line for line in said.splitlines() if "Exiting Kafka: " in line or "ERROR Malformed" in line)
    assert where in last_words and ("Restore" in last_words or "Move it away" in last_words), last_words


@pytest.mark.parametrize("stop", ["clean", "killed"])
@pytest.mark.parametrize("name", SERVED)
def test_a_damage_that_is_served(new_broker: NewBroker, name: str, stop: str) -> None:
    broker, producer = _produced(new_broker)
    broker.clean_shutdown() if stop == "clean" else broker.hard_kill()
    SERVED[name](broker)
    broker.start()
    check_log(producer, read_topic(broker.bootstrap, TOPIC), exactly_once=True)
    producer.send(100)
    check_log(producer, read_topic(broker.bootstrap, TOPIC), exactly_once=True)


def test_one_of_two_directories_fails(new_broker: NewBroker) -> None:
    broker = new_broker()
    broker.properties["log.dirs"] = f"{broker.data},{broker.directory / 'other'}"
    broker.start()
    create_topic(broker.bootstrap, TOPIC, 4)
    broker.clean_shutdown()
    damaged = next(path for path in broker.data.iterdir() if path.name.startswith(f"{TOPIC}-"))
    (damaged / "leader-epoch-checkpoint").write_text("nonsense")
    broker.start()
    assert f"Stopping serving logs in dir {broker.data}" in broker.text()
    create_topic(broker.bootstrap, "other")
    producer = AckedProducer(broker.bootstrap, "other")
    producer.send(100)
    check_log(producer, read_topic(broker.bootstrap, "other"), exactly_once=True)
