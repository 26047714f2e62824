"""The user's rebalance listeners (kafka-python's)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Collection

from kafkapy.common.topic_partition import TopicPartition


class ConsumerRebalanceListener(ABC):
    """Is called inside `poll` (or `next`), on the thread that polls; the consumer's methods may be used.

    Methods may be coroutines, as in programs for aiokafka.

    Example:
        >>> class Log(ConsumerRebalanceListener):
        ...     def on_partitions_revoked(self, revoked):
        ...         print("revoked", *revoked)
        ...     def on_partitions_assigned(self, assigned):
        ...         print("assigned", *assigned)
        >>> Log().on_partitions_lost([TopicPartition("clicks", 0)])
        revoked clicks-0
    """

    @abstractmethod
    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> Awaitable[object] | None:
        """These go to other members next: the last chance to commit.

        Args:
            revoked: The partitions.
        """

    @abstractmethod
    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> Awaitable[object] | None:
        """These are new here; positions may be set before the first record comes.

        Args:
            assigned: The partitions.
        """

    def on_partitions_lost(self, lost: Collection[TopicPartition]) -> Awaitable[object] | None:
        """These have other owners already: a commit would fail (KIP-429). Default: calls `on_partitions_revoked`.

        Args:
            lost: The partitions.
        """
        return self.on_partitions_revoked(lost)


class AsyncConsumerRebalanceListener(ABC):
    """The same as coroutines: for `kafkapy.aio`; the synchronous consumer runs them in an event loop of their own.

    Example:
        >>> import asyncio
        >>> class Log(AsyncConsumerRebalanceListener):
        ...     async def on_partitions_revoked(self, revoked):
        ...         print("revoked", *revoked)
        ...     async def on_partitions_assigned(self, assigned):
        ...         print("assigned", *assigned)
        >>> asyncio.run(Log().on_partitions_assigned([TopicPartition("clicks", 0)]))
        assigned clicks-0
    """

    @abstractmethod
    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """These go to other members next: the last chance to commit.

        Args:
            revoked: The partitions.
        """

    @abstractmethod
    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """These are new here; positions may be set before the first record comes.

        Args:
            assigned: The partitions.
        """

    async def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        """These have other owners already: a commit would fail (KIP-429). Default: calls `on_partitions_revoked`.

        Args:
            lost: The partitions.
        """
        await self.on_partitions_revoked(lost)


RebalanceListener = ConsumerRebalanceListener | AsyncConsumerRebalanceListener
