"""Keys of a foreign-key join's store of subscriptions, which is copartitioned with the right table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkapy.streams.processors.defaults import given_or_default

if TYPE_CHECKING:
    from kafkapy.streams.processor import TaskContext
    from kafkapy.streams.serdes import Deserializer, Serde, Serializer


class CombinedKey(NamedTuple):
    """Key of a subscription: the left table's record and the right table's record that it refers to."""

    foreign_key: Any
    """Key of the right table; None: the left record refers to none."""
    primary_key: Any
    """Key of the left table; never None."""


class CombinedKeySchema:
    """Converts combined keys to bytes: length of the foreign key (4 bytes), foreign key, primary key.

    Args:
        foreign_key_serde_topic_supplier: Returns the topic to pass to serializers; called when the task starts.
        foreign_key_serde: None: that of `default.key.serde`.
        primary_key_serde_topic_supplier: The same for the other key.
        primary_key_serde: None: that of `default.key.serde`.
    """

    _foreign_topic: str
    _primary_topic: str
    _foreign_serializer: Serializer
    _primary_serializer: Serializer
    _foreign_deserializer: Deserializer
    _primary_deserializer: Deserializer

    def __init__(
        self,
        foreign_key_serde_topic_supplier: Callable[[], str],
        foreign_key_serde: Serde[Any] | None,
        primary_key_serde_topic_supplier: Callable[[], str],
        primary_key_serde: Serde[Any] | None,
    ) -> None:
        self._foreign_topic_supplier = foreign_key_serde_topic_supplier
        self._foreign_serde = foreign_key_serde
        self._primary_topic_supplier = primary_key_serde_topic_supplier
        self._primary_serde = primary_key_serde

    def init(self, context: TaskContext) -> None:
        """Initialize serdes; called before the first key.

        Raises:
            ValueError: There is no serde.
        """
        self._foreign_topic = self._foreign_topic_supplier()
        self._primary_topic = self._primary_topic_supplier()
        foreign = given_or_default(self._foreign_serde, context, is_key=True)
        primary = given_or_default(self._primary_serde, context, is_key=True)
        self._foreign_serializer = foreign.serializer()
        self._primary_serializer = primary.serializer()
        self._foreign_deserializer = foreign.deserializer()
        self._primary_deserializer = primary.deserializer()

    def to_bytes(self, foreign_key: Any, primary_key: Any) -> bytes:
        """Serialize a key."""
        primary = self._primary_serializer.serialize(self._primary_topic, primary_key)
        assert primary is not None
        return self.prefix_bytes(foreign_key) + primary

    def from_bytes(self, data: bytes) -> CombinedKey:
        """Parse a key."""
        end = 4 + int.from_bytes(data[:4], "big")
        return CombinedKey(
            self._foreign_deserializer.deserialize(self._foreign_topic, data[4:end]),
            self._primary_deserializer.deserialize(self._primary_topic, data[end:]),
        )

    def prefix_bytes(self, foreign_key: Any) -> bytes:
        """Return the common prefix of all keys with a foreign key."""
        foreign = self._foreign_serializer.serialize(self._foreign_topic, foreign_key)
        assert foreign is not None
        return len(foreign).to_bytes(4, "big") + foreign
