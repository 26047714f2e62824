"""ZooKeeper goes away, or ends the broker's session: the data plane goes on, and the broker comes back by itself."""

from __future__ import annotations

import time

import pytest

from system_tests.conftest import NewBroker, Note, Progress
from system_tests.services import KafkaService, ZooKeeperService, wait_until
from system_tests.workload import AckedProducer, GroupMember, check_group, check_log, create_topic, read_topic


class Load:
    """A producer and a group of one member on a topic of their own, and what must hold of both at the end."""

    def __init__(self, broker: KafkaService, topic: str) -> None:
        self.broker = broker
        self.topic = topic
        create_topic(broker.bootstrap, topic, 2)
        self.producer = AckedProducer(broker.bootstrap, topic, 2, records_per_second=3000).start()
        self.member = GroupMember(broker.bootstrap, f"{topic}-group", topic, "member").start()
        self.wait_for_both(500)

    def wait_for_both(self, more: int) -> None:
        """Until `more` records are produced, and `more` consumed, than are now."""
        goal = self.member.polled + more
        self.producer.wait_for(more)
        wait_until(lambda: self.member.polled >= goal, 60, f"{more} more records of {self.topic} are consumed")

    def check(self) -> int:
        """Stop both; returns the number of records."""
        self.producer.stop()
        assert not self.producer.failures, self.producer.failures[0]
        ends = dict(enumerate(self.producer.sent))
        wait_until(lambda: self.member.polled >= sum(ends.values()), 60, f"{self.topic} is consumed to its end")
        self.member.stop()
        check_log(self.producer, read_topic(self.broker.bootstrap, self.topic, 2), exactly_once=True)
        assert check_group([self.member], ends) == 0, "records were consumed twice"
        return sum(ends.values())


@pytest.mark.timeout(300)
def test_zookeeper_is_away_and_comes_back(
    new_broker: NewBroker, zookeeper: ZooKeeperService, outage: float, note: Note, progress: Progress
) -> None:
    broker = new_broker({"zookeeper.session.timeout.ms": 6000})
    broker.start()
    load = Load(broker, "steady")
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
    load = Load(broker, "steady")
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
    load = Load(broker, "steady")
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
    load = Load(broker, "steady")
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
