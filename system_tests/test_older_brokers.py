"""A rolling upgrade: an older broker of Apache Kafka and a kafkapy broker in one cluster, both at the older
`inter.broker.protocol.version`. Each is controller for a while, each is killed and shut down under load.

Needs a JDK and Maven.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmarks.apache import jars
from system_tests.checks import check_log
from system_tests.clients import AckedProducer, create_topic, delete_topic, read_topic, topics
from system_tests.conftest import Note
from system_tests.services import ApacheKafkaService, KafkaService, Service, ZooKeeperService, wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

PARTITIONS = 4
POM = Path(__file__).with_name("older_brokers.xml")


@pytest.mark.skipif(shutil.which("mvn") is None, reason="older brokers are fetched with Maven")
@pytest.mark.parametrize("kafkapy_first", [False, True], ids=["apache-first", "kafkapy-first"])
@pytest.mark.parametrize(
    ("release", "protocol_version", "format_version"),
    [("2.8.2", "2.8", "2.8"), ("2.4.1", "2.4", "2.4"), ("2.4.1", "2.0", "0.10.2")],
)
def test_one_cluster(
    release: str,
    protocol_version: str,
    format_version: str,
    kafkapy_first: bool,
    tmp_path: Path,
    zookeeper: ZooKeeperService,
    services: list[Service],
    note: Note,
) -> None:
    pom = tmp_path / "pom.xml"
    pom.write_text(POM.read_text().replace("RELEASE", release))
    configs = {
        "inter.broker.protocol.version": protocol_version,
        "log.message.format.version": format_version,
        "offsets.topic.replication.factor": 2,
        "replica.lag.time.max.ms": 5000,
        "log.segment.delete.delay.ms": 500,
    }
    chroot = f"/{tmp_path.name}"
    apache_jars = Path(jars(pom).removesuffix("/*"))
    theirs = ApacheKafkaService(tmp_path / "apache", zookeeper, apache_jars, configs, broker_id=1, chroot=chroot)
    ours = KafkaService(tmp_path / "kafkapy", zookeeper, configs, broker_id=2, chroot=chroot)
    services.extend([theirs, ours])
    brokers = [ours, theirs] if kafkapy_first else [theirs, ours]
    for broker in brokers:
        broker.start()
    bootstrap = f"{theirs.address},{ours.address}"
    assert _controller(ours) == brokers[0].broker_id

    create_topic(bootstrap, "t", PARTITIONS, replication=2)
    _wait_for_isr(ours)
    idempotent = format_version >= "2"
    producer = AckedProducer(bootstrap, "t", PARTITIONS, 2000, enable_idempotence=str(idempotent).lower()).start()
    producer.wait_for(2000)
    for broker in brokers:  # the controller first
        if broker is brokers[0]:
            broker.hard_kill()
        else:
            broker.clean_shutdown()
        producer.wait_for(1000)
        broker.start()
        _wait_for_isr(ours)
        producer.wait_for(1000)
        create_topic(bootstrap, f"after-{broker.name}", 2, replication=2)
        delete_topic(bootstrap, f"after-{broker.name}")
        wait_until(lambda: topics(bootstrap) <= {"t", "__consumer_offsets"}, 60, "the topic is gone")
    assert _controller(ours) == brokers[0].broker_id, "each has been controller"
    producer.stop()
    assert not producer.failures, producer.failures[0]
    _wait_for_isr(ours)
    check_log(producer, read_topic(bootstrap, "t", PARTITIONS), exactly_once=idempotent)
    wait_until(lambda: _files(ours) == _files(theirs), 30, "both brokers have the same bytes and epochs")
    note("records", f"{producer.acknowledged:,}")


def _controller(broker: KafkaService) -> int:
    with broker.view() as view:
        return int(view.json("/controller")["brokerid"])


def _wait_for_isr(broker: KafkaService) -> None:
    def all_in_sync() -> bool:
        with broker.view() as view:
            states = [view.json(f"/brokers/topics/t/partitions/{p}/state") for p in range(PARTITIONS)]
        return all(len(state["isr"]) == 2 and state["leader"] >= 0 for state in states)

    wait_until(all_in_sync, 90, "both brokers are in every ISR")


def _files(broker: KafkaService) -> list[tuple[bytes, bytes | None]]:
    """(the log, the epochs if the message format has any) of each partition."""
    found = []
    for number in range(PARTITIONS):
        directory = broker.data / f"t-{number}"
        log = b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))
        epochs = directory / "leader-epoch-checkpoint"
        found.append((log, epochs.read_bytes() if epochs.exists() else None))
    return found
