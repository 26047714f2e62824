"""Transactions in a cluster of Apache's brokers and kafkapy's (kafkatest's transactions_mixed_versions_test).

The coordinator is one of the two kinds, the partition's leader and the broker that takes over from the coordinator are of the
other. The coordinator is killed in each state of a transaction; the other finishes what it has begun.

Needs the jars of Apache Kafka 3.9.1: their directory in $KAFKAPY_APACHE_JARS.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy import KafkaConsumer, KafkaProducer, TopicPartition
from kafkapy.admin import ElectionType, KafkaAdminClient, NewTopic
from kafkapy.clients.client_options import Isolation
from kafkapy.errors import KafkaError
from system_tests.conftest import Note
from system_tests.services import ApacheKafkaService, KafkaService, Service, ZooKeeperService, wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]

COORDINATOR, SUCCESSOR, LEADER = 1, 2, 3
STATE = TopicPartition("__transaction_state", 0)
CONFIGS = {
    "transaction.state.log.num.partitions": 1,
    "transaction.state.log.replication.factor": 2,
    "transaction.state.log.min.isr": 1,
    "offsets.topic.num.partitions": 1,
    "replica.lag.time.max.ms": 5000,
}


class Trio:
    """Three brokers: one coordinates all transactions, one takes over if that is killed, one leads the topic "t"."""

    def __init__(self, brokers: dict[int, KafkaService]) -> None:
        self.brokers = brokers
        self.bootstrap = ",".join(broker.address for broker in brokers.values())
        for broker in brokers.values():
            broker.start(wait=False)
        for broker in brokers.values():
            broker.wait_until_serving()
        for broker in brokers.values():
            broker.wait_until_in_zookeeper()
        self.admin = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        state = NewTopic(
            STATE.topic,
            replica_assignments={0: [COORDINATOR, SUCCESSOR]},
            topic_configs={"cleanup.policy": "compact", "min.insync.replicas": "1"},
        )
        self.admin.create_topics([state, NewTopic("t", replica_assignments={0: [LEADER, SUCCESSOR]})])

    @property
    def coordinator(self) -> KafkaService:
        return self.brokers[COORDINATOR]

    def state(self, transactional_id: str) -> str:
        return str(self.admin.describe_transactions([transactional_id])[transactional_id].state.value)

    def wait_for_state(self, transactional_id: str, state: str) -> None:
        last = ""

        def reached() -> bool:
            nonlocal last
            try:
                last = self.state(transactional_id)
            except KafkaError as error:
                last = repr(error)
            return last == state

        wait_until(reached, 60, lambda: f"{transactional_id} is {state}, which is {last}")

    def restore(self) -> None:
        """The coordinator is back, and coordinates again."""
        self.coordinator.start()
        self.coordinator.wait_until_in_zookeeper()
        wait_until(lambda: self._has_all(STATE), 90, "the coordinator is in sync again")
        self.admin.elect_leaders(ElectionType.PREFERRED, {STATE.topic: [STATE.partition]})
        wait_until(lambda: self._leads(COORDINATOR), 30, "the coordinator leads again")

    def _partition(self, name: TopicPartition) -> dict[str, list[int] | int]:
        with self.brokers[SUCCESSOR].view() as view:
            found: dict[str, list[int] | int] = view.json(
                f"/brokers/topics/{name.topic}/partitions/{name.partition}/state"
            )
        return found

    def _has_all(self, name: TopicPartition) -> bool:
        isr = self._partition(name)["isr"]
        return isinstance(isr, list) and len(isr) == 2

    def _leads(self, broker: int) -> bool:
        return self._partition(STATE)["leader"] == broker

    def read(self, isolation_level: Isolation = "read_committed") -> list[bytes]:
        consumer = KafkaConsumer(
            bootstrap_servers=self.bootstrap,
            group_id=None,
            isolation_level=isolation_level,
            auto_offset_reset="earliest",
        )
        consumer.assign([TopicPartition("t", 0)])
        end = consumer.end_offsets([TopicPartition("t", 0)])[TopicPartition("t", 0)]
        found: list[bytes] = []
        while (consumer.position(TopicPartition("t", 0)) or 0) < end:
            for records in consumer.poll(500).values():
                found.extend(record.value or b"" for record in records)
        consumer.close()
        return found


@pytest.mark.parametrize("apache_coordinates", [True, False], ids=["apache-coordinates", "kafkapy-coordinates"])
def test_either_finishes_what_the_other_has_begun(
    apache_coordinates: bool,
    tmp_path: Path,
    zookeeper: ZooKeeperService,
    services: list[Service],
    apache_jars: Path,
    note: Note,
) -> None:
    brokers: dict[int, KafkaService] = {}
    for number in (COORDINATOR, SUCCESSOR, LEADER):
        place = tmp_path / str(number)
        if (number == COORDINATOR) is apache_coordinates:
            brokers[number] = ApacheKafkaService(
                place, zookeeper, apache_jars, CONFIGS, broker_id=number, chroot=f"/{tmp_path.name}"
            )
        else:
            brokers[number] = KafkaService(place, zookeeper, CONFIGS, broker_id=number, chroot=f"/{tmp_path.name}")
    services.extend(brokers.values())
    trio = Trio(brokers)
    expected: list[bytes] = []
    for state in ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"):
        transactional_id = f"killed-in-{state}"
        producer = KafkaProducer(bootstrap_servers=trio.bootstrap, transactional_id=transactional_id)
        expected += _go_through(trio, producer, transactional_id, state)
        assert trio.read() == expected, state
        producer.close()
        trio.restore()
    listed = [each for of_broker in trio.admin.list_transactions().values() for each in of_broker]
    assert {listing.state.value for listing in listed} <= {"CompleteCommit", "CompleteAbort", "Empty"}
    note("records", len(expected))


def _go_through(trio: Trio, producer: KafkaProducer, transactional_id: str, state: str) -> list[bytes]:
    """Take a transaction to the state, kill the coordinator, and go on as if nothing had happened; what must be read then."""
    value = state.encode()
    commits = not state.endswith("Abort")
    producer.init_transactions()
    if state != "Empty":
        producer.begin_transaction()
        producer.send("t", value, partition=0)
        producer.flush()
    if state.startswith("Prepare"):
        trio.brokers[LEADER].pause()
    if state not in ("Empty", "Ongoing"):
        (producer.commit_transaction if commits else producer.abort_transaction)()
    trio.wait_for_state(transactional_id, state)
    trio.coordinator.hard_kill()
    if state.startswith("Prepare"):
        trio.brokers[LEADER].resume()
    if state == "Ongoing":
        producer.commit_transaction()
    ended = "Empty" if state == "Empty" else "CompleteCommit" if commits else "CompleteAbort"
    trio.wait_for_state(transactional_id, ended)
    producer.begin_transaction()
    producer.send("t", b"after " + value, partition=0)
    producer.commit_transaction()
    trio.wait_for_state(transactional_id, "CompleteCommit")
    return [*([value] if state != "Empty" and commits else []), b"after " + value]
