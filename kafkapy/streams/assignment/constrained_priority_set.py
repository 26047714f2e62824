"""Selects the least loaded instance that may be assigned a task."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kafkapy.streams.assignment.task_id import ProcessId, TaskId


class ConstrainedPrioritySet:
    """Instances by load (Kafka's class of this name). The load is computed in `offer`; call it again after the load
    has changed.

    Invariant: the set contains each instance at most once.

    Args:
        allowed: Returns whether an instance may be assigned a task.
        weight: Returns the load of an instance.
    """

    def __init__(
        self,
        allowed: Callable[[ProcessId, TaskId], bool],
        weight: Callable[[ProcessId], float],
    ) -> None:
        self._allowed = allowed
        self._weight = weight
        self._weights: dict[ProcessId, float] = {}

    def poll(self, task: TaskId, also: Callable[[ProcessId], bool] = lambda process: True) -> ProcessId | None:
        """Remove and return the least loaded instance that may be assigned the task; None if there is none."""
        for _, process in sorted((weight, process) for process, weight in self._weights.items()):
            if self._allowed(process, task) and also(process):
                del self._weights[process]
                return process
        return None

    def offer(self, process: ProcessId) -> None:
        self._weights[process] = self._weight(process)

    def offer_all(self, processes: Iterable[ProcessId]) -> None:
        for process in processes:
            self.offer(process)
