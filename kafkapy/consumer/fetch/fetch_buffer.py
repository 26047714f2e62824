"""Fetched records that wait for the user (Kafka's `FetchBuffer` and `FetchCollector`)."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Collection
from typing import TYPE_CHECKING

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.fetch.completed_fetch import CompletedFetch
from kafkapy.consumer.records import ConsumerRecord, RecordFactory
from kafkapy.consumer.subscription_state import FetchPosition, SubscriptionState
from kafkapy.protocol.errors import KafkaError

if TYPE_CHECKING:
    import pyarrow as pa

    from kafkapy.consumer.arrow import ArrowBuilder


class FetchBuffer:
    """The completed fetches of one consumer.

    Invariant: `_fetches` holds those of a partition in the order of their offsets, each beginning where the one before
    ends and the first of them at the partition's position; those for which that is not so any more (the partition was
    taken away, or sought in) are dropped when they are met.
    """

    def __init__(self, subscriptions: SubscriptionState, factory: RecordFactory) -> None:
        self._subscriptions = subscriptions
        self._factory = factory
        self._arrow_builders: dict[TopicPartition, ArrowBuilder] = {}
        self._fetches: deque[CompletedFetch] = deque()

    def add(self, fetch: CompletedFetch) -> None:
        self._fetches.append(fetch)

    def clear(self) -> None:
        self._fetches.clear()

    def drop(self, partitions: Collection[TopicPartition]) -> None:
        self._fetches = deque(fetch for fetch in self._fetches if fetch.partition not in partitions)
        for partition in partitions:
            self._arrow_builders.pop(partition, None)

    @property
    def size(self) -> int:
        """Bytes, as they came, of what the user can have now: paused partitions don't keep others from being fetched."""
        return sum(fetch.size for fetch in self._fetches if fetch.state.is_fetchable)

    def ahead(self) -> dict[TopicPartition, tuple[int, int]]:
        """For each partition that has some: bytes of it that wait, and where the next fetch begins."""
        ahead: dict[TopicPartition, tuple[int, int]] = {}
        for fetch in self._fetches:
            if self._is_good(fetch):
                size, _ = ahead.get(fetch.partition, (0, 0))
                ahead[fetch.partition] = size + fetch.size, fetch.end_offset
        return ahead

    def next_fetch(self, only: Collection[TopicPartition] = ()) -> CompletedFetch | None:
        """The first that can be given out from; `only` of these partitions, if there are any in it."""
        index = 0
        blocked: set[TopicPartition] = set()
        while index < len(self._fetches):
            fetch = self._fetches[index]
            if not self._is_good(fetch):
                del self._fetches[index]
            elif (only and fetch.partition not in only) or fetch.partition in blocked:
                index += 1
            elif not fetch.state.is_fetchable:
                blocked.add(fetch.partition)  # paused, or being validated: it waits
                index += 1
            elif not fetch.follows_position:
                del self._fetches[index]
            else:
                return fetch
        return None

    def collect(
        self, max_records: int, only: Collection[TopicPartition] = ()
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Up to `max_records` records; positions move behind them. Raises what the first record is in trouble with."""
        found: dict[TopicPartition, list[ConsumerRecord]] = {}
        left = max_records
        while left > 0 and (fetch := self.next_fetch(only)) is not None:
            try:
                records = fetch.take(left, self._factory)
            except Exception:
                if found:
                    break  # it comes again with the next call
                raise
            if records:
                left -= len(records)
                if fetch.partition in found:
                    found[fetch.partition] += records
                else:
                    found[fetch.partition] = records
            self._advance(fetch)
        return found

    def collect_arrow(self, max_records: int | None, taken: list[tuple[str, int]]) -> pa.Table | None:
        """The same as a table in `arrow.record_schema()`, None for no records. `max_records` None: all that is here.
        `taken` gets how many are of which topic."""
        batches: list[pa.RecordBatch] = []
        left = sys.maxsize if max_records is None else max_records
        while left > 0 and (fetch := self.next_fetch()) is not None:
            try:
                batch = fetch.take_arrow(left, self._arrow_builder(fetch.partition))
            except KafkaError:
                if batches:
                    break
                raise
            if batch is not None:
                left -= batch.num_rows
                batches.append(batch)
                taken.append((fetch.partition.topic, batch.num_rows))
            self._advance(fetch)
        if not batches:
            return None
        import pyarrow as pa

        return pa.Table.from_batches(batches)

    def _is_good(self, fetch: CompletedFetch) -> bool:
        state = self._subscriptions.assignment.get(fetch.partition)
        return state is fetch.state and state.version == fetch.version and not fetch.done

    def _advance(self, fetch: CompletedFetch) -> None:
        """The position goes as far as the fetch was given out; when it is used up, its partition goes to the end."""
        position = fetch.state.position
        if position is not None and fetch.next_offset != position.offset:
            fetch.state.advance(FetchPosition(fetch.next_offset, fetch.leader_epoch, position.leader_epoch))
        if fetch.done:
            self._fetches.remove(fetch)
            self._subscriptions.move_to_end(fetch.partition)

    def _arrow_builder(self, partition: TopicPartition) -> ArrowBuilder:
        builder = self._arrow_builders.get(partition)
        if builder is None:
            from kafkapy.consumer.arrow import ArrowBuilder

            builder = self._arrow_builders[partition] = ArrowBuilder(*partition)
        return builder
