"""Buffers fetched records until the user polls (Kafka's `FetchBuffer` and `FetchCollector`)."""

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
    ends and the first of them at the partition's position; a fetch for which this no longer holds (the partition was
    revoked, or its position jumped) is dropped when it is reached.
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
        """Return the bytes, as received, of fetchable partitions: paused ones must not keep others from being
        fetched."""
        return sum(fetch.size for fetch in self._fetches if fetch.state.is_fetchable)

    def ahead(self) -> dict[TopicPartition, tuple[int, int]]:
        """Return for each buffered partition its bytes in the buffer, and the offset of the next fetch."""
        ahead: dict[TopicPartition, tuple[int, int]] = {}
        for fetch in self._fetches:
            if self._is_good(fetch):
                size, _ = ahead.get(fetch.partition, (0, 0))
                ahead[fetch.partition] = size + fetch.size, fetch.end_offset
        return ahead

    def next_fetch(self, only: Collection[TopicPartition] = ()) -> CompletedFetch | None:
        """Return the first fetch whose records can be returned; `only`: of these partitions, unless empty."""
        index = 0
        blocked: set[TopicPartition] = set()
        while index < len(self._fetches):
            fetch = self._fetches[index]
            if not self._is_good(fetch):
                del self._fetches[index]
            elif (only and fetch.partition not in only) or fetch.partition in blocked:
                index += 1
            elif not fetch.state.is_fetchable:
                blocked.add(fetch.partition)  # paused, or being validated
                index += 1
            elif not fetch.follows_position:
                del self._fetches[index]
            else:
                return fetch
        return None

    def collect(
        self, max_records: int, only: Collection[TopicPartition] = ()
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Return up to `max_records` records and advance the positions. Raises the error of the first record."""
        found: dict[TopicPartition, list[ConsumerRecord]] = {}
        left = max_records
        while left > 0 and (fetch := self.next_fetch(only)) is not None:
            try:
                records = fetch.take(left, self._factory)
            except Exception:
                if found:
                    break  # raised again by the next call
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
        """As `collect`, but return a table in `arrow.record_schema()`; None if there are no records. `max_records`
        None: all that are buffered. Appends (topic, number of records) to `taken`."""
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
        """Advance the position behind the returned records; a partition whose fetch is used up moves to the end of the
        order."""
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
