"""When a windowed aggregation emits."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EmitStrategy:
    """When a windowed aggregation emits its results.

    Attributes:
        emits_on_close: Whether a result is emitted once, when a window is closed; else with each update.

    Example:
        >>> EmitStrategy.on_window_close().emits_on_close
        True
    """

    emits_on_close: bool

    @staticmethod
    def on_window_close() -> EmitStrategy:
        """Emit one result for each window, when its grace period is over."""
        return EmitStrategy(True)

    @staticmethod
    def on_window_update() -> EmitStrategy:
        """Emit a result with each update of a window (the default)."""
        return EmitStrategy(False)
