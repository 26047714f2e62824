"""What clients do to a broker for months, done again and again in an hour; and what of it stays in the broker's memory."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from benchmarks.stalls.client import FrameClient, batch, fetch_request, metadata_request, produce_request, values
from kafkapy import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafkapy.admin import NewTopic
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest
from kafkapy.protocol.messages.join_group import JoinGroupRequest
from kafkapy.protocol.messages.leave_group import LeaveGroupRequest
from kafkapy.protocol.messages.sync_group import SyncGroupRequest
from kafkapy.testing.cluster import KafkaCluster

TOPIC, TRANSACTIONAL = "soak", "soak-transactions"

CONFIG = {
    "log.retention.ms": -1,
    # Caches and lists of bounded size are full after the first round.
    "max.incremental.fetch.session.cache.slots": 10,
    "fetch.purgatory.purge.interval.requests": 5,
    "producer.purgatory.purge.interval.requests": 5,
    # State that expires does so within `Soak.expiry_ms`.
    "offsets.retention.minutes": 1,
    "offsets.retention.check.interval.ms": 10_000,
    "transactional.id.expiration.ms": 60_000,
    "transaction.remove.expired.transaction.cleanup.interval.ms": 10_000,
    "producer.id.expiration.ms": 60_000,
    "producer.id.expiration.check.interval.ms": 10_000,
    "log.retention.check.interval.ms": 10_000,
    "log.segment.delete.delay.ms": 1_000,
    "connections.max.idle.ms": 30_000,
}

_SETTLE_SECONDS = 60.0

_MOST_BYTES, _MOST_BYTES_EACH = 100_000, 200
"""What may stay of the C library's memory: its pieces are not given back one by one."""

Operation = Callable[[Any, int], None]


class Growth(NamedTuple):
    """What two equal rounds of an operation have left."""

    rounds: int
    unreachable: dict[str, int]
    """Objects of cycles that only Python's collector would have freed, by type; of both rounds."""
    alive: dict[str, tuple[int, int]]
    """By type, how many more objects there are after the first and after the second round."""
    blocks: tuple[int, int] = (0, 0)
    """How many more pieces of Python's memory, which also has what the collector does not know: numbers, bytes, texts."""
    malloc: tuple[int, int] = (0, 0)
    """How many more bytes of the C library's memory: large objects, and what OpenSSL holds."""

    def complaints(self) -> Iterator[str]:
        """One object for each tenth operation is a leak; fewer are caches, logging, and what happens beside."""
        allowed = max(20, self.rounds // 10)
        if sum(self.unreachable.values()) > allowed:
            yield f"{self.rounds} operations leave cycles: {self.unreachable}"
        for name, (first, second) in self.alive.items():
            if min(first, second) > allowed:
                yield f"{self.rounds} operations leave {first}, then {second} objects {name}"
        if min(self.blocks) > 10 * allowed:
            yield f"{self.rounds} operations leave {self.blocks} pieces of memory"
        if min(self.malloc) > max(_MOST_BYTES, _MOST_BYTES_EACH * self.rounds):
            yield f"{self.rounds} operations leave {self.malloc} bytes of the C library's"


class Soak:
    """A broker, and the operations it must forget."""

    expiry_ms = 400_000
    """After it all has expired that can."""
    step_ms = 20_000
    """By which the broker's clock is moved at once."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self.cluster = cluster
        self.broker = cluster.brokers[0]
        self.bootstrap = cluster.bootstrap_servers
        self._names = (f"soak-{number}" for number in itertools.count())

    def growth(self, operation: Operation, count: int) -> Growth:
        """Do `count` operations to warm up, and the same twice more, and count what stays after everything has expired."""
        operation(self, count)
        self._expire()
        self.broker.order("begin_garbage_count")
        try:
            alive, memory = [self._alive()], [self._memory()]
            unreachable: Counter[str] = Counter()
            for _ in range(2):
                operation(self, count)
                self._expire()
                unreachable.update(self.broker.order("count_unreachable"))
                alive.append(self._alive())
                memory.append(self._memory())
        finally:
            self.broker.order("end_garbage_count")
        before, first, second = alive
        grown = {name: (first[name] - before[name], second[name] - first[name]) for name in first | second}
        blocks, malloc = (
            (memory[1][kind] - memory[0][kind], memory[2][kind] - memory[1][kind]) for kind in ("blocks", "malloc")
        )
        return Growth(count, dict(unreachable.most_common(8)), grown, blocks, malloc)

    def _memory(self) -> dict[str, int]:
        counted: dict[str, int] = self.broker.order("count_memory")
        return counted

    def _alive(self) -> Counter[str]:
        return Counter(self.broker.order("count_alive"))

    def _expire(self) -> None:
        """Move the broker's clock until retention and time-outs have done their work, and wait until the count rests."""
        for _ in range(0, self.expiry_ms, self.step_ms):
            self.broker.order("advance", ms=self.step_ms)
        deadline, last = time.monotonic() + _SETTLE_SECONDS, -1
        while time.monotonic() < deadline:
            count = sum(self._alive().values())
            if count >= last >= 0:
                break
            last = count
            time.sleep(0.3)
        self.broker.order("back_to_present")

    def client(self) -> FrameClient:
        return FrameClient(self.broker.port.port, client_id="soak")

    # --- operations

    def connections(self, count: int) -> None:
        produce = produce_request(TOPIC, batch(values(1, 100)))
        for _ in range(count):
            with self.client() as client:
                client.ask(metadata_request(None), 9)
                client.ask(produce, 9)

    def fetch_sessions(self, count: int) -> None:
        """Each is left open by a connection that closes while a fetch of it waits."""
        fetch = fetch_request(TOPIC, 0, 1000)
        fetch.session_epoch = 0
        waiting = fetch_request(TOPIC, 1 << 40, 1000, (1,))
        waiting.max_wait_ms = 10_000
        for _ in range(count):
            with self.client() as client:
                client.ask(fetch, 12)
                client.socket.sendall(client.frame(waiting, 12))

    def topics(self, count: int) -> None:
        admin: Any = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        for _ in range(0, count, 10):
            names = [next(self._names) for _ in range(10)]
            admin.create_topics([NewTopic(name, 2, 1) for name in names])
            admin.delete_topics(names)
        admin.close()

    def groups(self, count: int) -> None:
        """Members that join a group of their own, commit and leave."""
        for _ in range(count):
            consumer: Any = KafkaConsumer(
                TOPIC, group_id=next(self._names), bootstrap_servers=self.bootstrap, auto_offset_reset="earliest"
            )
            consumer.poll(timeout_ms=10_000, max_records=1)
            consumer.commit()
            consumer.close()

    def heartbeats(self, count: int) -> None:
        with self.client() as client:
            member = Member(client, next(self._names))
            for _ in range(10 * count):
                member.heartbeat()
            member.leave()

    def transactions(self, count: int) -> None:
        producer: Any = KafkaProducer(bootstrap_servers=self.bootstrap, transactional_id=next(self._names))
        producer.init_transactions()
        for number in range(count):
            producer.begin_transaction()
            producer.send(TRANSACTIONAL, b"value")
            if number % 2:
                producer.commit_transaction()
            else:
                producer.abort_transaction()
        producer.close()

    def transactional_ids(self, count: int) -> None:
        for _ in range(count // 5):
            self.transactions(1)

    def session_losses(self, count: int) -> None:
        """Losses of the broker's ZooKeeper session, one for each ten of `count`."""
        for _ in range(count // 10):
            self.broker.expire_session()
            deadline = time.monotonic() + _SETTLE_SECONDS
            while self.broker.session is None and time.monotonic() < deadline:
                time.sleep(0.05)
                self.broker.take_news()
            self.cluster.wait_until_serving()

    def segment_rolls(self, count: int) -> None:
        name = next(self._names)
        self.cluster.create_topic(name, 1, {"segment.bytes": "1000", "retention.bytes": "3000"})
        with KafkaProducer(bootstrap_servers=self.bootstrap) as producer:
            for _ in range(count):
                producer.send(name, b"v" * 900).get(60)
        self.cluster.delete_topic(name)

    def questions(self, count: int) -> None:
        """What tools and dashboards ask."""
        admin: Any = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        for _ in range(count):
            admin.describe_cluster()
            admin.list_topics()
            admin.list_consumer_groups()
        admin.close()


KINDS: tuple[Operation, ...] = (
    Soak.connections,
    Soak.fetch_sessions,
    Soak.topics,
    Soak.groups,
    Soak.heartbeats,
    Soak.transactions,
    Soak.transactional_ids,
    Soak.session_losses,
    Soak.segment_rolls,
    Soak.questions,
)


class Member:
    """A member alone in its group, which does nothing but heartbeat."""

    def __init__(self, client: FrameClient, group: str, session_timeout_ms: int = 45_000) -> None:
        self._client = client
        self._group = group
        protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"")
        join = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=session_timeout_ms,
            rebalance_timeout_ms=60_000,
            member_id="",
            protocol_type="consumer",
            protocols=[protocol],
        )
        joined = client.call(join, 3)
        self._member, self._generation = joined.member_id, joined.generation_id
        assignment = SyncGroupRequest.SyncGroupRequestAssignment(member_id=self._member, assignment=b"")
        sync = SyncGroupRequest(
            group_id=group, generation_id=self._generation, member_id=self._member, assignments=[assignment]
        )
        assert client.call(sync, 1).error_code == 0
        self._heartbeat = HeartbeatRequest(group_id=group, generation_id=self._generation, member_id=self._member)

    def heartbeat(self) -> None:
        answer = self._client.call(self._heartbeat, 1)
        assert answer.error_code == 0, f"{ApiKey.HEARTBEAT.title}: error {answer.error_code}"

    def leave(self) -> None:
        self._client.call(LeaveGroupRequest(group_id=self._group, member_id=self._member), 1)
