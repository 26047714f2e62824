"""Serdes for types of keys and values, for programs that give types in place of serdes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import is_dataclass
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID

from kafkapy.bus.plain_values import from_plain, to_plain
from kafkapy.streams.serdes import Deserializer, Serde, Serdes, Serializer

_OWN: Final[dict[type[Any], Callable[[], Serde[Any]]]] = {
    str: Serdes.string,
    int: Serdes.long,
    float: Serdes.double,
    bytes: Serdes.byte_array,
}
_PLAIN: Final = (dict, list, bool, object)


class JsonSerde:
    """JSON in UTF-8, without a registry: of dictionaries, lists, texts, numbers, or of the instances of a dataclass.

    Args:
        cls: A dataclass, whose fields may be dataclasses, too; None: values are what `json` makes of them.

    Example:
        >>> JsonSerde().serialize("topic", {"count": 1})
        b'{"count":1}'
    """

    def __init__(self, cls: type[Any] | None = None) -> None:
        self._to_plain = None if cls is None else to_plain(cls)
        self._from_plain = None if cls is None else from_plain(cls)

    def serializer(self) -> Serializer:
        return self

    def deserializer(self) -> Deserializer:
        return self

    def serialize(self, topic: str, data: Any) -> bytes | None:
        """Convert to bytes.

        Args:
            topic: Name of the topic.
            data: The data; None stays None.
        """
        if data is None:
            return None
        plain = data if self._to_plain is None else self._to_plain(data)
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":"), default=_text).encode()

    def deserialize(self, topic: str, data: bytes | None) -> Any:
        """Convert from bytes.

        Args:
            topic: Name of the topic.
            data: The data; None stays None.
        """
        if data is None:
            return None
        plain = json.loads(data)
        return plain if self._from_plain is None else self._from_plain(plain)


def serde_of(given: Serde[Any] | type[Any] | None) -> Serde[Any] | None:
    """A serde by a type, or the serde that is given.

    Args:
        given: `str` (UTF-8), `int` (a long), `float` (a double) or `bytes`; a dataclass, `dict`, `list`, `bool` or `object`
            (JSON); a serde; None.

    Raises:
        TypeError: It is another type, or no serde.

    Example:
        >>> serde_of(int).serializer().serialize("topic", 1).hex()
        '0000000000000001'
    """
    if given is None:
        return None
    if isinstance(given, type):
        if given in _OWN:
            return _OWN[given]()
        if is_dataclass(given):
            return JsonSerde(given)
        if given in _PLAIN:
            return JsonSerde()
    elif hasattr(given, "serializer") and hasattr(given, "deserializer"):
        return given
    raise TypeError(
        f"a serde, or one of str, int, float, bytes, dict, list, bool and dataclasses is expected, not {given!r}"
    )


def _text(value: Any) -> str:
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")
