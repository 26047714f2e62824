"""What a worker runs of its assignment."""

from __future__ import annotations

from collections.abc import Collection

from kafkapy.connect.group.assignment import ConnectAssignment
from kafkapy.connect.storage import ConnectorTaskId


class RunningWork:
    """The connectors and tasks that the worker has started. The caller holds the herder's lock.

    Invariant: a task of `_restarting` is stopped, because its config has changed, and starts after the next rebalance.

    Example:
        >>> work = RunningWork()
        >>> assignment = ConnectAssignment(2, 0, "me", "http://me", 0, ("a",), (ConnectorTaskId("a", 0),))
        >>> work.missing(assignment)
        (['a'], [a-0])
        >>> work.started(assignment)
        >>> work.missing(assignment)
        ([], [])
    """

    def __init__(self) -> None:
        self.connectors: set[str] = set()
        self.tasks: set[ConnectorTaskId] = set()
        self._restarting: set[ConnectorTaskId] = set()

    def missing(self, assignment: ConnectAssignment) -> tuple[list[str], list[ConnectorTaskId]]:
        """Return the connectors and the tasks of an assignment that have to be started."""
        self.tasks -= self._restarting
        self._restarting.clear()
        connectors = [name for name in dict.fromkeys(assignment.connectors) if name not in self.connectors]
        return connectors, [task for task in dict.fromkeys(assignment.tasks) if task not in self.tasks]

    def started(self, assignment: ConnectAssignment | None) -> None:
        """Note that an assignment was started; None: as the protocol is eager, all is started anew each time."""
        self.connectors = set() if assignment is None else set(assignment.connectors)
        self.tasks = set() if assignment is None else set(assignment.tasks)

    def stopped(self, connectors: Collection[str], tasks: Collection[ConnectorTaskId]) -> None:
        """Note what was stopped for good."""
        self.connectors.difference_update(connectors)
        self.tasks.difference_update(tasks)

    def stopped_to_restart(self, tasks: Collection[ConnectorTaskId]) -> None:
        """Note tasks that were stopped to start with their new configs."""
        self._restarting.update(tasks)
