"""What is known of one record on its way through a task (Kafka's `ProcessingContext`)."""

from __future__ import annotations

from typing import Any

from kafkapy.connect.runtime.errors.stage import Stage


class ProcessingContext:
    """Used by one thread at a time. `original`: a source record, or the consumer's record of a sink.

    Attributes:
        stage: What is done, or was done last.
        executing_class: The class that does it.
        attempt: How often it was tried.
        error: Why the record has failed; None: it has not.
    """

    __slots__ = ("attempt", "error", "executing_class", "original", "stage")

    def __init__(self, original: Any) -> None:
        self.original = original
        self.stage: Stage | None = None
        self.executing_class: type[Any] | None = None
        self.attempt = 0
        self.error: BaseException | None = None

    def at(self, stage: Stage, executing_class: type[Any]) -> None:
        """Note what is done now."""
        self.stage = stage
        self.executing_class = executing_class

    @property
    def failed(self) -> bool:
        return self.error is not None
