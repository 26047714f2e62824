"""Random cancellations of everything that the asyncio clients can be asked: no record is lost, none comes twice, groups go on.

    python -m system_tests.cancellations --bootstrap-servers localhost:9092 --cancellations 100000

Members of a group read what a producer writes; beside them a producer of transactions (`cancelled_transactions`), a consumer
without a group and an admin client (`cancelled_questions`) are at work. Each of their calls is cancelled at a moment of chance;
members come and go, and their listeners, which commit, are coroutines that take their time. Checked with each record: it is the
next one of its partition, and no listener of its reader is at work. Checked at the end: all that `send` has taken is there,
once, and at most once what a cancelled `send_and_wait` may have sent. Only what a member read of partitions that it lost,
because it was stopped in the middle of a rebalance and could not commit, may come again, as with any of Kafka's consumers.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import uuid
from collections.abc import Awaitable, Collection, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

import pyarrow as pa

from kafkapy import AsyncConsumerRebalanceListener, TopicPartition
from kafkapy.admin import NewTopic
from kafkapy.aio import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafkapy.consumer.assignors import CooperativeStickyAssignor, RangePartitionAssignor
from kafkapy.errors import CommitFailedError, IllegalStateError, RebalanceInProgressError
from system_tests.cancelled_questions import Questions
from system_tests.cancelled_transactions import Transactions
from system_tests.cancelling import Cancelling

PARTITIONS = 4
MEMBERS = 2


class Outcome(NamedTuple):
    """`cancellations`: calls that ended with CancelledError or TimeoutError; `committed`: records of transactions."""

    records: int
    cancellations: int
    rebalances: int
    committed: int


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
        self._topic = topic
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
        for _ in range(self._chance.randrange(3)):
            await self._cancelling.call(self.consumer.start())
        await self.consumer.start()
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
        if chance.random() < 0.005:
            await call(self._leave())
            consumer.subscribe([self._topic], listener=self)
        elif kind < 2:
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
            with suppress(RebalanceInProgressError, CommitFailedError):
                await call(consumer.commit())
        elif some:
            (partition,) = some[:1]
            with suppress(IllegalStateError):  # it may have been given up by an `unsubscribe` that was cancelled
                await call(self._look_at(partition) if kind == 8 else consumer.committed(partition))

    async def _leave(self) -> None:
        await self.consumer.unsubscribe()

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


class Producing:
    """A producer and what it was given. Invariant: all of `sent` is in the topic at the end, of `perhaps` what was on its way."""

    def __init__(self, cancelling: Cancelling, topic: str, servers: str) -> None:
        self._cancelling = cancelling
        self._topic = topic
        self._servers = servers
        self._number = 0
        self.sent: list[bytes] = []
        self.perhaps: set[bytes] = set()

    async def run(self) -> None:
        chance, call = self._cancelling.chance, self._cancelling.call
        producer = KafkaProducer(bootstrap_servers=self._servers, linger_ms=1, batch_size=500)
        await producer.start()
        while not self._cancelling.enough:
            deliveries: list[Awaitable[Any]] = []
            for _ in range(chance.randrange(12)):
                await self._send(producer, deliveries)
            for delivery in deliveries[:2]:
                await call(_awaited(delivery))
            if chance.random() < 0.2:
                await call(producer.flush())
            if chance.random() < 0.1:
                await call(producer.partitions_for(self._topic))
            await asyncio.sleep(chance.random() * 0.01)
        await call(producer.stop())
        await producer.stop()

    async def _send(self, producer: KafkaProducer[Any, Any], deliveries: list[Awaitable[Any]]) -> None:
        chance, call = self._cancelling.chance, self._cancelling.call
        partition, kind = chance.randrange(PARTITIONS), chance.randrange(10)
        values = self._values(chance.randrange(1, 4) if kind in (0, 1) else 1)

        def taken(delivery: Any) -> None:
            self.sent.extend(values)
            deliveries.append(delivery)

        if kind == 0:
            await call(producer.send_many(self._topic, values, partition=partition), taken)
        elif kind == 1:
            batch = producer.create_batch()
            for value in values:
                batch.append(timestamp=None, key=None, value=value)
            await call(producer.send_batch(batch, self._topic, partition=partition), taken)
        elif kind == 2:
            if await call(producer.send_and_wait(self._topic, values[0], partition=partition)):
                self.sent.extend(values)
            else:
                self.perhaps.update(values)
        elif kind == 3:
            await call(producer.send_arrow(self._topic, pa.table({"value": values}), partition), taken)
        else:
            await call(producer.send(self._topic, values[0], partition=partition), taken)

    def _values(self, count: int) -> list[bytes]:
        self._number += count
        return [b"%d" % number for number in range(self._number - count, self._number)]


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


async def run(servers: str, cancellations: int, seed: int) -> Outcome:
    """Raises AssertionError."""
    cancelling = Cancelling(random.Random(seed), cancellations)
    topic = f"cancellations-{uuid.uuid4().hex[:8]}"
    async with KafkaAdminClient(bootstrap_servers=servers) as admin:
        await admin.create_topics([NewTopic(topic, PARTITIONS, 1)])
        await admin.create_topics([NewTopic(f"{topic}-tx", PARTITIONS, 1)])
    log, producing = Log(), Producing(cancelling, topic, servers)
    transactions = Transactions(cancelling, servers, f"{topic}-tx", PARTITIONS)
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

    others = [producing.run(), transactions.run(), Questions(cancelling, servers, topic).run()]
    tasks = [asyncio.create_task(work) for work in (*others, *(seat() for _ in range(MEMBERS)))]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    cancelling.wanted = 0  # after a failure the others end, too; they don't know a cancellation of ours from their own
    await asyncio.gather(*tasks)
    await _read_the_rest(log, topic, options)
    values, wanted = set(log.values), set(producing.sent)
    assert len(values) == len(log.values), "records came twice"
    assert wanted <= values <= wanted | producing.perhaps, _difference(values, wanted)
    await transactions.judge()
    return Outcome(
        len(values), cancelling.done, sum(member.rebalances for member in members), len(transactions.committed)
    )


async def _read_the_rest(log: Log, topic: str, options: dict[str, Any]) -> None:
    partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
    async with asyncio.timeout(30), KafkaConsumer(topic, **options) as consumer:
        ends = await consumer.end_offsets(partitions)
        while any(log.next.get(partition, 0) < end for partition, end in ends.items()):
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
