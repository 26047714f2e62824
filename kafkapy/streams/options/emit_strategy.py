"""When a windowed aggregation emits."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EmitStrategy:
    """When a windowed aggregation emits its results.

    Attributes:
        emits_on_close: Once, when a window is closed; else with each update.

    Example:
        >>> EmitStrategy.on_window_close().emits_on_close
        True
    """

    emits_on_close: bool

    @staticmethod
    def on_window_close() -> EmitStrategy:
        """One result a window, when its grace is over."""
        return EmitStrategy(True)

    @staticmethod
    def on_window_update() -> EmitStrategy:
        """A result with each update of a window, which is the default."""
        return EmitStrategy(False)
