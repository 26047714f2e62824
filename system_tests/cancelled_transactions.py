"""Transactions whose every call is cancelled at a moment of chance: each is there as a whole, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from kafkapy import TopicPartition
from kafkapy.aio import KafkaConsumer, KafkaProducer
from system_tests.cancelling import Cancelling


class Transactions:
    """One producer's, one after the other, and what must be there of them. A cancelled `commit_transaction` or
    `abort_transaction` is called again until it tells how it ended, so that is known. What becomes of `async with
    producer.transaction()` that is cancelled is not: it may be there, all of it or nothing.

    Where the group `NAME` stands in the transaction's own topic is the number of its last transaction that was committed
    with offsets; if sending them was cancelled, that may be so or not.
    """

    def __init__(self, cancelling: Cancelling, servers: str, topic: str, partitions: int) -> None:
        self._call = cancelling.call
        self._cancelling = cancelling
        self._servers = servers
        self._topic = topic
        self._partitions = partitions
        self._number = 0
        self.committed: list[bytes] = []
        self.aborted: set[bytes] = set()
        self._unknown: list[list[bytes]] = []
        self._offsets: set[int | None] = {None}

    async def run(self) -> None:
        producer = KafkaProducer(bootstrap_servers=self._servers, transactional_id=self._topic, linger_ms=1)
        await producer.start()
        while not self._cancelling.enough:
            if self._cancelling.chance.random() < 0.2:
                await self._in_context(producer)
            else:
                await self._by_hand(producer)
            await asyncio.sleep(self._cancelling.chance.random() * 0.01)
        await self._call(producer.stop())
        await producer.stop()

    def _values(self) -> list[bytes]:
        """At least one: else nobody could tell how it ended."""
        self._number += 1
        return [b"%d-%d" % (self._number, part) for part in range(self._cancelling.chance.randrange(1, 6))]

    async def _by_hand(self, producer: KafkaProducer[Any, Any]) -> None:
        call, chance = self._call, self._cancelling.chance
        while not await call(producer.begin_transaction()):
            pass
        taken: list[bytes] = []
        for value in self._values():
            if await call(producer.send(self._topic, value, partition=chance.randrange(self._partitions))):
                taken.append(value)
        with_offsets = chance.random() < 0.3
        sent = with_offsets and await call(
            producer.send_offsets_to_transaction({TopicPartition(self._topic, 0): self._number}, self._topic)
        )
        is_commit = chance.random() < 0.7
        while not await call(producer.commit_transaction() if is_commit else producer.abort_transaction()):
            pass
        if not is_commit:
            self.aborted.update(taken)
            return
        self.committed += taken
        if with_offsets:
            self._offsets = {self._number} if sent else self._offsets | {self._number}

    async def _in_context(self, producer: KafkaProducer[Any, Any]) -> None:
        values = self._values()

        async def transact() -> None:
            async with producer.transaction():
                for value in values:
                    await producer.send(self._topic, value)

        if await self._call(transact()):
            self.committed += values
        else:
            self._unknown.append(values)

    async def judge(self) -> None:
        """Raises AssertionError."""
        found = await self._read()
        assert len(found) == len(set(found)), "records came twice"
        there = set(found)
        assert there.issuperset(self.committed), f"lost: {sorted(set(self.committed) - there)[:10]}"
        assert not there & self.aborted, f"aborted, and there: {sorted(there & self.aborted)[:10]}"
        for values in self._unknown:
            assert there.issuperset(values) or there.isdisjoint(values), f"torn: {values}"
        known = {*self.committed, *(value for values in self._unknown for value in values)}
        assert there <= known, f"nobody sent: {sorted(there - known)[:10]}"

    async def _read(self) -> Sequence[bytes]:
        consumer = KafkaConsumer(
            bootstrap_servers=self._servers,
            group_id=self._topic,
            isolation_level="read_committed",
            enable_auto_commit=False,
        )
        found: list[bytes] = []
        partitions = [TopicPartition(self._topic, number) for number in range(self._partitions)]
        async with asyncio.timeout(60), consumer:
            offset = await consumer.committed(partitions[0])
            assert offset in self._offsets, f"the group is at {offset}, not at one of {self._offsets}"
            consumer.assign(partitions)
            await consumer.seek_to_beginning()
            ends = await consumer.end_offsets(partitions)
            while ends != {partition: await consumer.position(partition) for partition in partitions}:
                for records in (await consumer.poll(200)).values():
                    found += [record.value or b"" for record in records]
        return found
