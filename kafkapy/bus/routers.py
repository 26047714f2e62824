"""Routers: how an event's key is computed. The key decides the partition, and events of one key stay in order.

A topic's router is a field of its events (`user_id`, `order.customer_id`), a function that takes the event
(`shop.routing:by_city`), or absent: then events are spread over the partitions, without an order. Keys are text, so
that programs in any language compute the same.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from enum import Enum
from importlib import import_module
from typing import Any
from uuid import UUID

from kafkapy.bus.errors import BusError, NotAnEventError

Router = Callable[[Any], bytes | None]
RouterSpec = str | Callable[[Any], Any] | None


def router_of(spec: RouterSpec) -> Router:
    """Parse a router. Raises ValueError if the text is none. A function is imported when the first event is sent."""
    if spec is None or spec in ("", "none"):
        return _spread
    if not isinstance(spec, str):
        function = spec
        return lambda event: key_bytes(function(event), "the router's function")
    if ":" in spec:
        return _ImportedRouter(spec)
    names = spec.split(".")
    if not all(name.isidentifier() for name in names):
        raise ValueError(f"{spec!r} is no router: it must be a field, a.field.of.a.field, module:function, or none")
    return lambda event: key_bytes(_field(event, names, spec), f"the field {spec}")


def key_bytes(value: Any, what: str) -> bytes | None:
    """Convert a value to a key. Raises NotAnEventError if the value cannot be one."""
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, int):
        return b"%d" % value
    if isinstance(value, UUID):
        return str(value).encode()
    if isinstance(value, datetime | date):
        return value.isoformat().encode()
    raise NotAnEventError(
        f"A key is text, a whole number, bytes, a UUID or a time; {what} gives {type(value).__name__}: {value!r:.100}"
    )


class _ImportedRouter:
    def __init__(self, spec: str) -> None:
        self._spec = spec
        self._function: Callable[[Any], Any] | None = None

    def __call__(self, event: Any) -> bytes | None:
        if self._function is None:
            module, _, name = self._spec.partition(":")
            try:
                self._function = getattr(import_module(module), name)
            except (ImportError, AttributeError) as error:
                raise BusError(f"The router {self._spec} cannot be imported: {error}") from error
        return key_bytes(self._function(event), f"the router {self._spec}")


def _field(event: Any, names: list[str], spec: str) -> Any:
    value = event
    for name in names:
        if value is None:
            return None
        try:
            value = getattr(value, name)
        except AttributeError:
            raise NotAnEventError(
                f"The router of {type(event).__name__} is its field {spec}, but there is no {name} in {type(value).__name__}"
            ) from None
    return value


def _spread(event: Any) -> None:
    return None
