"""Random cancellations of everything that the asyncio clients can be asked: no record is lost, none comes twice, groups go on.

    python -m system_tests.cancellations --bootstrap-servers localhost:9092 --cancellations 100000

Members of a group read what a producer writes. Each of their calls is cancelled at a moment of chance, as `asyncio.timeout`,
`asyncio.wait_for` and `Task.cancel` do it; members come and go, and their listeners, which commit, are coroutines that take
their time. Checked with each record: it is the next one of its partition, and no listener of its reader is at work. Checked
at the end: all that `send` has taken is there, once. Only what a member read of partitions that it lost, because it was stopped
in the middle of a rebalance and could not commit, may come again, as with any of Kafka's consumers.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import uuid
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from kafkapy import AsyncConsumerRebalanceListener, TopicPartition
from kafkapy.admin import NewTopic
from kafkapy.aio import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafkapy.consumer.assignors import CooperativeStickyAssignor, RangePartitionAssignor
from kafkapy.errors import RebalanceInProgressError

PARTITIONS = 4
MEMBERS = 2


class Outcome(NamedTuple):
    """`cancellations`: calls that ended with CancelledError or TimeoutError."""

    records: int
    cancellations: int
    rebalances: int


class Cancelling:
    """Calls things and cancels some of them."""

    def __init__(self, chance: random.Random, wanted: int) -> None:
        self.chance = chance
        self.wanted = wanted
        self.done = 0

    @property
    def enough(self) -> bool:
        return self.done >= self.wanted

    async def call(self, coroutine: Coroutine[Any, Any, Any], take: Callable[[Any], object] = lambda _: None) -> None:
        """`take` what it gives, unless it is cancelled before."""
        how = self.chance.choice((self._by_timeout, self._by_wait_for, self._by_cancel))
        try:
            await how(coroutine, take)
        except (TimeoutError, asyncio.CancelledError):
            self.done += 1

    def _seconds(self) -> float:
        return self.chance.choice((0.0, 0.0002, 0.001, 0.005, 0.03)) * self.chance.random()

    async def _by_timeout(self, coroutine: Coroutine[Any, Any, Any], take: Callable[[Any], object]) -> None:
        async with asyncio.timeout(self._seconds()):
            take(await coroutine)

    async def _by_wait_for(self, coroutine: Coroutine[Any, Any, Any], take: Callable[[Any], object]) -> None:
        take(await asyncio.wait_for(coroutine, self._seconds() or 1e-6))

    async def _by_cancel(self, coroutine: Coroutine[Any, Any, Any], take: Callable[[Any], object]) -> None:
        task = asyncio.create_task(coroutine)
        for _ in range(self.chance.randrange(4)):
            await asyncio.sleep(0)
        if self.chance.random() < 0.5:
            await asyncio.sleep(self._seconds())
        task.cancel()
        take(await task)


class Log:
    """What was read, over all members."""

    def __init__(self) -> None:
        self.next: dict[tuple[str, int], int] = {}
        self.values: list[bytes] = []
        self.lost: set[tuple[str, int]] = set()
        """Partitions that may begin again before `next`."""

    def add(self, topic: str, partition: int, offset: int, value: bytes) -> None:
        if self.check((topic, partition), offset):
            self.next[topic, partition] = offset + 1
            self.values.append(value)

    def check(self, partition: tuple[str, int], offset: int) -> bool:
        """Is it the next one? If not, that is an error, unless the partition was lost."""
        expected = self.next.get(partition, 0)
        if offset == expected:
            self.lost.discard(partition)
            return True
        assert partition in self.lost and offset < expected, f"{partition}: {offset} came in the place of {expected}"
        return False


class Member(AsyncConsumerRebalanceListener):
    """A consumer of the group, and how it is used."""

    def __init__(self, cancelling: Cancelling, log: Log, topic: str, **options: Any) -> None:
        self._cancelling = cancelling
        self._chance = cancelling.chance
        self._log = log
        self._busy = False
        self.rebalances = 0
        self.consumer = KafkaConsumer(**options)
        self.consumer.subscribe([topic], listener=self)

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        self._busy = True
        await asyncio.sleep(self._chance.random() * 0.02)
        await self.consumer.commit()
        await asyncio.sleep(self._chance.random() * 0.02)
        self._busy = False

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        self._busy = True
        await asyncio.sleep(self._chance.random() * 0.02)
        self.rebalances += 1
        self._busy = False

    async def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        self._log.lost.update(lost)

    async def use(self, calls: int) -> None:
        """So many calls, and the end."""
        for _ in range(calls):
            if self._cancelling.enough:
                break
            await self._once()
        for _ in range(self._chance.randrange(3)):
            await self._cancelling.call(self.consumer.stop())
        await self.consumer.stop()

    async def _once(self) -> None:
        consumer, call, chance = self.consumer, self._cancelling.call, self._chance
        assigned = sorted(consumer.assignment())
        some = chance.sample(assigned, chance.randrange(len(assigned) + 1))
        kind = chance.randrange(10)
        if kind < 2:
            await call(consumer.poll(chance.choice((0, 1, 20)), chance.choice((None, 1, 7))), self._take_all)
        elif kind < 4:
            await call(consumer.getone(*some), self._take)
        elif kind == 4:
            await call(consumer.getmany(*some, timeout_ms=5, max_records=20), self._take_all)
        elif kind == 5:
            await call(consumer.poll_arrow(chance.choice((0, 10)), chance.choice((None, 3))), self._take_table)
        elif kind == 6:
            await call(self._iterate(chance.randrange(1, 30)))
        elif kind == 7:
            with suppress(RebalanceInProgressError):
                await call(consumer.commit())
        elif some:
            (partition,) = some[:1]
            await call(self._look_at(partition) if kind == 8 else consumer.committed(partition))

    async def _iterate(self, count: int) -> None:
        async for record in self.consumer:
            self._take(record)
            count -= 1
            if not count:
                break

    async def _look_at(self, partition: TopicPartition) -> None:
        position = await self.consumer.position(partition, 100)
        if position is not None and partition in self.consumer.assignment() and self._chance.random() < 0.3:
            self._log.check(partition, position)
            self.consumer.seek(partition, position)

    def _take(self, record: Any) -> None:
        assert not self._busy, "a record came while a listener was at work"
        self._log.add(record.topic, record.partition, record.offset, record.value)

    def _take_all(self, records: dict[TopicPartition, list[Any]]) -> None:
        for record in (record for found in records.values() for record in found):
            self._take(record)

    def _take_table(self, table: Any) -> None:
        assert table is None or not self._busy, "records came while a listener was at work"
        columns = () if table is None else ("topic", "partition", "offset", "value")
        for row in zip(*(table[name].to_pylist() for name in columns), strict=True):
            self._log.add(*row)


async def _produce(cancelling: Cancelling, topic: str, servers: str, sent: list[bytes]) -> None:
    chance, call = cancelling.chance, cancelling.call
    number = 0
    async with KafkaProducer(bootstrap_servers=servers, linger_ms=1, batch_size=500) as producer:
        while not cancelling.enough:
            deliveries: list[Awaitable[Any]] = []
            for _ in range(chance.randrange(12)):
                number += 1
                value, partition = b"%d" % number, chance.randrange(PARTITIONS)

                def taken(delivery: Any, value: bytes = value, deliveries: list[Any] = deliveries) -> None:
                    sent.append(value)
                    deliveries.append(delivery)

                await call(producer.send(topic, value, partition=partition), taken)
            for delivery in deliveries[:2]:
                await call(_awaited(delivery))
            if chance.random() < 0.2:
                await call(producer.flush())
            await asyncio.sleep(chance.random() * 0.01)
        await call(producer.stop())


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


async def run(servers: str, cancellations: int, seed: int) -> Outcome:
    """Raises AssertionError."""
    cancelling = Cancelling(random.Random(seed), cancellations)
    topic = f"cancellations-{uuid.uuid4().hex[:8]}"
    async with KafkaAdminClient(bootstrap_servers=servers) as admin:
        await admin.create_topics([NewTopic(topic, PARTITIONS, 1)])
    log, sent = Log(), list[bytes]()
    options = {
        "bootstrap_servers": servers,
        "group_id": topic,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "heartbeat_interval_ms": 100,
        "partition_assignment_strategy": [
            cancelling.chance.choice((RangePartitionAssignor, CooperativeStickyAssignor))
        ],
    }
    members: list[Member] = []

    async def seat() -> None:
        while not cancelling.enough:
            members.append(Member(cancelling, log, topic, **options))
            await members[-1].use(cancelling.chance.randrange(200, 1500))

    tasks = [asyncio.create_task(_produce(cancelling, topic, servers, sent))]
    tasks += [asyncio.create_task(seat()) for _ in range(MEMBERS)]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    cancelling.wanted = 0  # after a failure the others end, too; they don't know a cancellation of ours from their own
    await asyncio.gather(*tasks)
    await _read_the_rest(log, topic, len(sent), options)
    assert sorted(log.values) == sorted(sent), _difference(log.values, sent)
    return Outcome(len(sent), cancelling.done, sum(member.rebalances for member in members))


async def _read_the_rest(log: Log, topic: str, count: int, options: dict[str, Any]) -> None:
    async with asyncio.timeout(30), KafkaConsumer(topic, **options) as consumer:
        while len(log.values) < count:
            for records in (await consumer.poll(500)).values():
                for record in records:
                    log.add(record.topic, record.partition, record.offset, record.value)
        assert await consumer.poll(200) == {}


def _difference(found: Iterable[bytes], wanted: Iterable[bytes]) -> str:
    return f"lost: {sorted(set(wanted) - set(found))[:10]}, not sent: {sorted(set(found) - set(wanted))[:10]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bootstrap-servers", required=True)
    parser.add_argument("--cancellations", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    print(asyncio.run(run(given.bootstrap_servers, given.cancellations, given.seed)))


if __name__ == "__main__":
    main()
