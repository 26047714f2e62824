"""What users may hang into a rebalance (kafka-python's listeners)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Collection

from kafkapy.common.topic_partition import TopicPartition


class ConsumerRebalanceListener(ABC):
    """Called inside `poll` (or `next`), on the thread that polls; the consumer's methods may be used. Methods may be coroutines,
    as aiokafka's programs have them."""

    @abstractmethod
    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> Awaitable[object] | None:
        """These go to other members next: the last chance to commit."""

    @abstractmethod
    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> Awaitable[object] | None:
        """These are new here; positions may be set before the first record comes."""

    def on_partitions_lost(self, lost: Collection[TopicPartition]) -> Awaitable[object] | None:
        """These have other owners already: a commit would fail (KIP-429)."""
        return self.on_partitions_revoked(lost)


class AsyncConsumerRebalanceListener(ABC):
    """The same as coroutines: for `kafkapy.aio`; the synchronous consumer runs them in an event loop of their own."""

    @abstractmethod
    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None: ...

    @abstractmethod
    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None: ...

    async def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        await self.on_partitions_revoked(lost)


RebalanceListener = ConsumerRebalanceListener | AsyncConsumerRebalanceListener
