"""Base of all consumers: the methods that don't wait, and the checks before each call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kafkapy.common.patterns import TranslatedPattern
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer import arguments
from kafkapy.consumer.core import ConsumerCore
from kafkapy.consumer.health import ConsumerHealth
from kafkapy.consumer.listener import RebalanceListener
from kafkapy.errors import IllegalStateError
from kafkapy.structs import ConsumerGroupMetadata, OffsetResetStrategy


class ConsumerFace:
    """The methods of a consumer that never wait. They raise kafka-python's exceptions."""

    _core: ConsumerCore
    _closed: bool

    def _call(self, f: Callable[..., Any], *args: Any) -> Any:
        """Call a function of the core on the driver's thread."""
        raise NotImplementedError

    # -- what to read

    def subscribe(
        self,
        topics: Sequence[str] = (),
        pattern: str | TranslatedPattern | None = None,
        listener: RebalanceListener | None = None,
    ) -> None:
        r"""Read these topics, or all that match the pattern; replaces the previous subscription.

        A pattern is in the syntax of Python's `re`; if `re` rejects it, Java's syntax is tried (`\p{Alpha}`,
        `[a-z&&[^b]]`, `(?<name>…)`).

        Args:
            topics: Names of topics. Default: none, with a `pattern`.
            pattern: A regular expression that a topic's name must match from its beginning. None (default): `topics` count.
            listener: Is called when partitions are assigned, revoked or lost. None (default): no calls.

        Raises:
            IllegalStateError: Partitions were assigned by hand, or both topics and a pattern are given.
            ValueError: The pattern is no regular expression.
            TypeError: `topics` is a string, or the listener is no listener.
        """
        self._check_open()
        arguments.check_listener(listener)
        self._call(self._core.subscribe, topics, pattern, listener)

    def subscription(self) -> set[str] | None:
        """The topics; None without a subscription."""
        subscriptions = self._core.subscriptions
        return set(subscriptions.subscription) if subscriptions.auto_assigned else None

    def assignment(self) -> set[TopicPartition]:
        """The partitions that are read."""
        return self._core.subscriptions.assigned_partitions()

    def pause(self, *partitions: TopicPartition) -> None:
        """Return no records of these until `resume`; the group membership stays.

        Args:
            partitions: Assigned partitions.
        """
        self._call(self._core.pause, arguments.partitions(partitions))

    def paused(self) -> set[TopicPartition]:
        """Return the paused partitions."""
        return self._core.subscriptions.paused_partitions()

    def resume(self, *partitions: TopicPartition) -> None:
        """Return records of these again.

        Args:
            partitions: Paused partitions.
        """
        self._call(self._core.resume, arguments.partitions(partitions))

    # -- positions

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Set the position: the next record is the one at `offset`.

        Args:
            partition: An assigned partition.
            offset: The offset, from 0.

        Raises:
            TypeError: `partition` is no `TopicPartition`.
            ValueError: `offset` is negative, or no int.
        """
        arguments.partition(partition)
        if not isinstance(offset, int) or offset < 0:
            raise ValueError("Offset must be int >= 0")
        arguments.assigned((partition,), self.assignment())
        self._call(self._core.seek, partition, offset)

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Continue at the first offset of the log.

        Args:
            partitions: The partitions; none: all that are assigned.

        Raises:
            TypeError: An argument is no `TopicPartition`.
        """
        wanted = arguments.assigned(partitions, self.assignment())
        self._call(self._core.seek_to, OffsetResetStrategy.EARLIEST, wanted)

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Continue behind the last record.

        Args:
            partitions: The partitions; none: all that are assigned.

        Raises:
            TypeError: An argument is no `TopicPartition`.
        """
        wanted = arguments.assigned(partitions, self.assignment())
        self._call(self._core.seek_to, OffsetResetStrategy.LATEST, wanted)

    def highwater(self, partition: TopicPartition) -> int | None:
        """Return the offset after the last record that can be read, as of the last fetch; None before the first fetch.

        Args:
            partition: An assigned partition.

        Raises:
            IllegalStateError: The partition is not assigned.
        """
        arguments.partition(partition)
        self._check_assigned(partition)
        return self._core.subscriptions.state(partition).high_watermark

    # -- what is known

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Return the group's metadata for `KafkaProducer.send_offsets_to_transaction`; it also shows whether a
        rebalance runs."""
        return self._core.group_metadata()

    def enforce_rebalance(self, reason: str | None = None) -> None:
        """Join the group again with the next poll, without a change of the subscription (KIP-568).

        Args:
            reason: For the coordinator's log. None (default): "rebalance enforced by user".

        Raises:
            IllegalStateError: There is no subscription, or no `group_id`.
        """
        self._check_open()
        self._require_group()
        self._call(self._core.enforce_rebalance, reason or "rebalance enforced by user")

    def health(self) -> ConsumerHealth:
        """Return assignment, lag, time of the last poll and state of the group. Thread-safe; never waits."""
        return self._core.health()

    # -- what must hold

    def _timeout(self, timeout_ms: float | None) -> float:
        return self._core.config.request_timeout_ms if timeout_ms is None else timeout_ms

    def _check_open(self) -> None:
        if self._closed:
            raise IllegalStateError("KafkaConsumer is closed")

    def _require_group(self) -> None:
        if self._core.coordinator is None:
            raise IllegalStateError("Requires group_id")

    def _check_assigned(self, partition: TopicPartition) -> None:
        if partition not in self._core.subscriptions.assignment:
            raise IllegalStateError("Partition is not assigned")
