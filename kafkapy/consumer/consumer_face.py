"""What the consumers of all kinds have in common: what takes no time, and what must hold before they do anything."""

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
    """The part of a consumer that never waits. It says no as kafka-python does."""

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
        """Read these topics, or all that match; replaces the subscription before.

        A pattern must match from a topic's beginning on. It is one of Python's `re`; what that refuses may be one of Java
        (`\\p{Alpha}`, `[a-z&&[^b]]`, `(?<name>…)`).

        Raises IllegalStateError (partitions were assigned by hand; topics and a pattern), ValueError, TypeError.
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
        """No records of these until `resume`; the group does not mind."""
        self._call(self._core.pause, arguments.partitions(partitions))

    def paused(self) -> set[TopicPartition]:
        """Those that were paused."""
        return self._core.subscriptions.paused_partitions()

    def resume(self, *partitions: TopicPartition) -> None:
        """Records of these again."""
        self._call(self._core.resume, arguments.partitions(partitions))

    # -- positions

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Go on reading at `offset`. Raises TypeError, ValueError."""
        arguments.partition(partition)
        if not isinstance(offset, int) or offset < 0:
            raise ValueError("Offset must be int >= 0")
        arguments.assigned((partition,), self.assignment())
        self._call(self._core.seek, partition, offset)

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Go on at the first offset there is; without arguments, in all partitions. Raises TypeError, ValueError."""
        wanted = arguments.assigned(partitions, self.assignment())
        self._call(self._core.seek_to, OffsetResetStrategy.EARLIEST, wanted)

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Go on behind the last offset; without arguments, in all partitions. Raises TypeError, ValueError."""
        wanted = arguments.assigned(partitions, self.assignment())
        self._call(self._core.seek_to, OffsetResetStrategy.LATEST, wanted)

    def highwater(self, partition: TopicPartition) -> int | None:
        """The offset after the last one that can be read, as the last fetch told it."""
        arguments.partition(partition)
        self._check_assigned(partition)
        return self._core.subscriptions.state(partition).high_watermark

    # -- what is known

    def group_metadata(self) -> ConsumerGroupMetadata:
        """For `KafkaProducer.send_offsets_to_transaction`; also tells whether the group is settled."""
        return self._core.group_metadata()

    def enforce_rebalance(self, reason: str | None = None) -> None:
        """Join the group again with the next poll, though nothing has changed here (KIP-568).

        Raises IllegalStateError without a subscription, and if no group was configured.
        """
        self._check_open()
        self._require_group()
        self._call(self._core.enforce_rebalance, reason or "rebalance enforced by user")

    def health(self) -> ConsumerHealth:
        """Is it assigned, how far is it behind, when did it last poll, how is its group? From any thread, at once."""
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
