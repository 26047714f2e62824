"""Kafka's names of the converters, header converters, transforms and predicates that come with Connect."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

_KAFKA: Final = "org.apache.kafka.connect."
_HERE: Final = "kafkapy.connect."

_CONVERTERS: Final = {
    f"{_KAFKA}json.JsonConverter": "converters.json_converter:JsonConverter",
    f"{_KAFKA}storage.StringConverter": "converters.string_converter:StringConverter",
    f"{_KAFKA}storage.SimpleHeaderConverter": "converters.simple_header_converter:SimpleHeaderConverter",
    f"{_KAFKA}converters.ByteArrayConverter": "converters.byte_array_converter:ByteArrayConverter",
    **{
        f"{_KAFKA}converters.{name}Converter": f"converters.number_converters:{name}Converter"
        for name in ("Boolean", "Short", "Integer", "Long", "Float", "Double")
    },
}

CONVERTERS: Final = tuple(name for name in _CONVERTERS if "SimpleHeader" not in name)
"""Kafka's names of the converters of keys and values; each is a header converter, too."""
HEADER_CONVERTERS: Final = tuple(_CONVERTERS)
"""Kafka's names of the converters of headers."""


def class_of(name: str) -> type[Any]:
    """Return the class that stands for one of Kafka's.

    Args:
        name: Full Java name.

    Raises:
        LookupError: There is none.

    Example:
        >>> class_of("org.apache.kafka.connect.storage.StringConverter").__name__
        'StringConverter'
    """
    place = _CONVERTERS.get(name)
    if place is None:
        raise LookupError(f"No class stands for {name}")
    module, _, attribute = place.partition(":")
    found: type[Any] = getattr(import_module(_HERE + module), attribute)
    return found
