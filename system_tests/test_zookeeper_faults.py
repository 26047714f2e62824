"""ZooKeeper goes away, or ends the broker's session: the data plane goes on, and the broker comes back by itself."""

from __future__ import annotations

import time

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from system_tests.checks import check_log
from system_tests.clients import AckedProducer, create_topic, read_topic
from system_tests.conftest import NewBroker, Note, Progress
from system_tests.load import Load
from system_tests.services import KafkaService, ZooKeeperService, wait_until


@pytest.mark.timeout(300)
def test_zookeeper_is_away_and_comes_back(
    new_broker: NewBroker, zookeeper: ZooKeeperService, outage: float, note: Note, progress: Progress
) -> None:
    broker = new_broker({"zookeeper.session.timeout.ms": 6000})
    broker.start()
    load = Load(broker.bootstrap, "steady")
    zookeeper.hard_kill()
    progress(f"ZooKeeper is away for {outage:g} s")
    end = time.monotonic() + outage
    while time.monotonic() < end:
        load.wait_for_both(300)
        time.sleep(0.1)
    zookeeper.start()
    broker.wait_until_registered()
    create_topic(broker.bootstrap, "after-the-outage")
    load.wait_for_both(500)
    note("outage", f"{outage:g} s")
    note("records", f"{load.check():,}")


def test_expired_session(new_broker: NewBroker, short: bool, note: Note) -> None:
    broker = new_broker({"zookeeper.session.timeout.ms": 3000})
    broker.start()
    load = Load(broker.bootstrap, "steady")
    slowest = 0.0
    for expiry in range(1 if short else 5):
        epoch = broker.wait_until_registered()
        begin = time.monotonic()
        broker.expire_session()
        broker.wait_until_registered(after_epoch=epoch)
        slowest = max(slowest, time.monotonic() - begin)
        create_topic(broker.bootstrap, f"after-expiry-{expiry}")
        fresh = AckedProducer(broker.bootstrap, f"after-expiry-{expiry}")
        fresh.send(100)
        check_log(fresh, read_topic(broker.bootstrap, fresh.topic), exactly_once=True)
        load.wait_for_both(500)
    note("back as controller after", f"{slowest:.1f} s")
    note("records", f"{load.check():,}")


@pytest.mark.long
def test_session_ends_and_zookeeper_goes(new_broker: NewBroker, zookeeper: ZooKeeperService, note: Note) -> None:
    """The broker wakes up without session and without server."""
    broker = new_broker({"zookeeper.session.timeout.ms": 2000})
    broker.start()
    load = Load(broker.bootstrap, "steady")
    epoch = broker.wait_until_registered()
    with broker.paused():
        time.sleep(4)  # ZooKeeper ends the session
        zookeeper.hard_kill()
    load.wait_for_both(300)
    zookeeper.start()
    assert broker.wait_until_registered(after_epoch=epoch) > epoch
    create_topic(broker.bootstrap, "after-the-outage")
    note("records", f"{load.check():,}")


@pytest.mark.long
def test_zookeeper_comes_and_goes(broker: KafkaService, zookeeper: ZooKeeperService, note: Note) -> None:
    load = Load(broker.bootstrap, "steady")
    for _ in range(6):
        zookeeper.hard_kill()
        load.wait_for_both(200)
        zookeeper.start()
        time.sleep(0.3)
    broker.wait_until_registered()
    create_topic(broker.bootstrap, "after-all")
    note("records", f"{load.check():,}")


@pytest.mark.long
def test_broker_starts_before_zookeeper(new_broker: NewBroker, zookeeper: ZooKeeperService) -> None:
    broker = new_broker()
    zookeeper.hard_kill()
    broker.start(wait=False)
    time.sleep(1)
    assert broker.is_running
    zookeeper.start()
    broker.wait_until_serving()
    create_topic(broker.bootstrap, "late")


@pytest.mark.long
def test_clean_shutdown_without_zookeeper(new_broker: NewBroker, zookeeper: ZooKeeperService, note: Note) -> None:
    """Nobody can be asked to take over the leadership: the broker closes its logs and goes, in bounded time."""
    broker = new_broker()
    broker.start()
    create_topic(broker.bootstrap, "alone")
    producer = AckedProducer(broker.bootstrap, "alone")
    producer.send(500)
    zookeeper.hard_kill()
    seconds = broker.clean_shutdown()
    assert (broker.data / ".kafka_cleanshutdown").exists()
    zookeeper.start()
    broker.start()
    check_log(producer, read_topic(broker.bootstrap, "alone"), exactly_once=True)
    note("shutdown", f"{seconds:.1f} s")


@pytest.mark.long
@pytest.mark.parametrize("end", ["zookeeper comes back", "broker is stopped"])
def test_administration_piles_up_while_zookeeper_is_away(
    broker: KafkaService, zookeeper: ZooKeeperService, end: str, note: Note
) -> None:
    """More requests that need ZooKeeper than there are threads to wait: the data plane does not wait with them."""
    load = Load(broker.bootstrap, "steady")
    zookeeper.hard_kill()
    admins = [AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0}) for _ in range(20)]
    for number, admin in enumerate(admins):
        admin.create_topics([NewTopic(f"waiting-{number}", 1, 1)], operation_timeout=60, request_timeout=60)
    time.sleep(1)
    load.wait_for_both(2000)
    if end == "broker is stopped":
        load.producer.stop()
        seconds = broker.clean_shutdown()
        assert (broker.data / ".kafka_cleanshutdown").exists()
        zookeeper.start()
        broker.start()
        note("shutdown", f"{seconds:.1f} s")
    else:
        zookeeper.start()
        broker.wait_until_registered()
        create_topic(broker.bootstrap, "after-the-outage")
        wait_until(lambda: "waiting-19" in admins[0].list_topics(timeout=10).topics, 30, "the last topic is created")
    note("records", f"{load.check():,}")
