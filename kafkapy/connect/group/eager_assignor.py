"""Assigns connectors, then tasks, round-robin (Kafka's `EagerAssignor`)."""

from __future__ import annotations

from collections.abc import Collection
from itertools import cycle

from kafkapy.connect.storage import ClusterConfigState, ConnectorTaskId

Assigned = dict[str, list[str]]
AssignedTasks = dict[str, list[ConnectorTaskId]]


def assign_eagerly(config: ClusterConfigState, members: Collection[str]) -> tuple[Assigned, AssignedTasks]:
    """Assign all connectors and tasks from scratch.

    Args:
        config: The configs; inconsistent connectors get no tasks.
        members: Ids of the members.

    Returns:
        Connectors and tasks of each member.

    Example:
        >>> assign_eagerly(ClusterConfigState(connector_configs={"a": {}}, task_counts={"a": 1}), ["m1", "m2"])
        ({'m1': ['a'], 'm2': []}, {'m1': [], 'm2': [a-0]})
    """
    connectors: Assigned = {member: [] for member in members}
    tasks: AssignedTasks = {member: [] for member in members}
    turns = cycle(sorted(members))
    names = sorted(config.connectors)
    for name in names:
        connectors[next(turns)].append(name)
    for name in names:
        for task in config.tasks(name):
            tasks[next(turns)].append(task)
    return connectors, tasks
