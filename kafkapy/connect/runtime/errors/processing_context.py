"""The state of a record during its processing by a task (Kafka's `ProcessingContext`)."""

from __future__ import annotations

from typing import Any

from kafkapy.connect.runtime.errors.stage import Stage


class ProcessingContext:
    """Used by one thread at a time. `original`: a source record, or the consumer's record of a sink.

    Attributes:
        stage: The current or last stage.
        executing_class: The class that executes it.
        attempt: Number of attempts.
        error: The record's error; None: there is none.
    """

    __slots__ = ("attempt", "error", "executing_class", "original", "stage")

    def __init__(self, original: Any) -> None:
        self.original = original
        self.stage: Stage | None = None
        self.executing_class: type[Any] | None = None
        self.attempt = 0
        self.error: BaseException | None = None

    def at(self, stage: Stage, executing_class: type[Any]) -> None:
        """Set the current stage."""
        self.stage = stage
        self.executing_class = executing_class

    @property
    def failed(self) -> bool:
        return self.error is not None
