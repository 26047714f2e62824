"""The configuration's serdes, for operators without serdes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafkapy.streams.processor import TaskContext
    from kafkapy.streams.serdes import Serde


def given_or_default(serde: Serde[Any] | None, context: TaskContext, *, is_key: bool) -> Serde[Any]:
    """Return the given serde, or that of the configuration.

    Raises:
        ValueError: The configuration has none.
    """
    default = context.default_key_serde if is_key else context.default_value_serde
    return given_or(serde, default, is_key=is_key)


def given_or(serde: Serde[Any] | None, default: Serde[Any] | None, *, is_key: bool) -> Serde[Any]:
    """Return the given serde, or the default.

    Raises:
        ValueError: There is none.
    """
    chosen = default if serde is None else serde
    if chosen is None:
        of = "key" if is_key else "value"
        raise ValueError(f"Please specify a {of} serde or set one through default.{of}.serde")
    return chosen
