"""Serdes of windowed keys in topics."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from kafkapy.streams.processor import Duration, milliseconds
from kafkapy.streams.records import SessionWindow, Windowed
from kafkapy.streams.serdes import Deserializer, Serde, Serializer
from kafkapy.streams.state.session_key_schema import from_session_key, to_session_key
from kafkapy.streams.state.state_serdes import no_default
from kafkapy.streams.state.value_and_timestamp import fill_in
from kafkapy.streams.state.window_key_schema import (
    from_topic_key,
    store_key,
    store_start,
    time_window_for_size,
    to_topic_key,
)

T = TypeVar("T")


class WindowedSerde(Generic[T]):
    """Common base; each serde is both serializer and deserializer.

    Args:
        inner: Serde of the keys themselves; None: `default.key.serde`.
    """

    def __init__(self, inner: Serde[T] | None) -> None:
        self._inner: Serde[Any] | None = inner

    def set_if_unset(self, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None) -> None:
        """Use the configuration's default if there is no inner serde.

        Args:
            key_serde: Serde of keys. None: the default serde.
            value_serde: Serde of values. None: the default serde.

        Raises:
            ValueError: There is no default.
        """
        if self._inner is None:
            if key_serde is None:
                raise no_default("key")
            self._inner = key_serde
        fill_in(self._inner, key_serde, value_serde)

    def serializer(self) -> Serializer:
        return self  # type: ignore[return-value]  # subclasses have the method

    def deserializer(self) -> Deserializer:
        return self  # type: ignore[return-value]  # subclasses have the method

    def serialize_base_key(self, topic: str, data: Windowed[Any]) -> bytes | None:
        """Return the bytes of the key without its window, from which the partition is computed.

        Args:
            topic: Name of the topic.
            data: The data; None stays None.
        """
        return self._serde().serializer().serialize(topic, data.key)

    def _raw_key(self, topic: str, data: Windowed[Any]) -> bytes:
        raw = self._serde().serializer().serialize(topic, data.key)
        if raw is None:
            raise TypeError("a windowed key is None")
        return raw

    def _key(self, topic: str, raw: bytes) -> Any:
        return self._serde().deserializer().deserialize(topic, raw)

    def _serde(self) -> Serde[Any]:
        if self._inner is None:
            raise TypeError("Inner serde is `null`. User code must use a constructor with an inner serde.")
        return self._inner


class TimeWindowedSerde(WindowedSerde[T]):
    """Keys of windows of one size: the key, then the start of the window (8 bytes, big-endian).

    Args:
        inner: Of the keys themselves.
        window_size: Size of the windows, which is not part of the bytes.

    Example:
        >>> from kafkapy.streams.records import TimeWindow
        >>> from kafkapy.streams.serdes import Serdes
        >>> serde = TimeWindowedSerde(Serdes.string(), 10)
        >>> serde.serialize("topic", Windowed("a", TimeWindow(5, 15))).hex()
        '610000000000000005'
        >>> serde.deserialize("topic", bytes.fromhex("610000000000000005"))
        [a@5/15]
    """

    def __init__(self, inner: Serde[T] | None, window_size: Duration) -> None:
        super().__init__(inner)
        self._window_size = milliseconds(window_size, "windowSize")
        self._is_changelog_topic = False

    def for_changelog(self, is_changelog_topic: bool) -> TimeWindowedSerde[T]:
        """Return the serde for a changelog topic, whose keys end with a sequence number (4 bytes).

        Args:
            is_changelog_topic: Whether the bytes are those of a changelog.
        """
        serde: TimeWindowedSerde[T] = TimeWindowedSerde(self._inner, self._window_size)
        serde._is_changelog_topic = is_changelog_topic
        return serde

    def serialize(self, topic: str, data: Windowed[Any] | None) -> bytes | None:
        """Convert to bytes.

        Args:
            topic: Name of the topic.
            data: The data; None stays None.
        """
        return None if data is None else to_topic_key(self._raw_key(topic, data), data.window)

    def deserialize(self, topic: str, data: bytes | None) -> Windowed[Any] | None:
        """Convert from bytes.

        Args:
            topic: Name of the topic.
            data: The data; None stays None.
        """
        if not data:
            return None
        key, start = (store_key(data), store_start(data)) if self._is_changelog_topic else from_topic_key(data)
        return Windowed(self._key(topic, key), time_window_for_size(start, self._window_size))


class SessionWindowedSerde(WindowedSerde[T]):
    """Keys of sessions: the key, then end and start (8 bytes each, big-endian).

    Args:
        inner: Of the keys themselves.

    Example:
        >>> from kafkapy.streams.serdes import Serdes
        >>> serde = SessionWindowedSerde(Serdes.string())
        >>> serde.serialize("topic", Windowed("a", SessionWindow(1, 2))).hex()
        '6100000000000000020000000000000001'
    """

    def serialize(self, topic: str, data: Windowed[Any] | None) -> bytes | None:
        """Convert to bytes.

        Args:
            topic: Name of the topic.
            data: The data; None stays None.
        """
        if data is None:
            return None
        return to_session_key(self._raw_key(topic, data), data.window.start, data.window.end)

    def deserialize(self, topic: str, data: bytes | None) -> Windowed[Any] | None:
        """Convert from bytes.

        Args:
            topic: Name of the topic.
            data: The data; None stays None.
        """
        if not data:
            return None
        key, start, end = from_session_key(data)
        return Windowed(self._key(topic, key), SessionWindow(start, end))
