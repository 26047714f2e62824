"""Changes of configs that the herder's thread has not applied yet."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from kafkapy.connect.storage import ConnectorTaskId, RestartRequest


class TakenChanges(NamedTuple):
    """Changes that are applied together.

    Attributes:
        rebalance: The group has to rebalance, because connectors or tasks were added or removed.
        connectors: Those with another config.
        targets: Connectors with another target state.
        tasks: Those with another config.
    """

    rebalance: bool
    connectors: list[str]
    targets: list[str]
    tasks: list[ConnectorTaskId]


class PendingChanges:
    """What the config store's thread has reported. The caller holds the herder's lock.

    Invariant: nothing is reported twice by `take`; of the restart requests for a connector the one with the largest
    impact is kept.

    Example:
        >>> changes = PendingChanges()
        >>> changes.connector_updated("a", known=True)
        >>> changes.take(eager=False)
        TakenChanges(rebalance=False, connectors=['a'], targets=[], tasks=[])
        >>> changes.take(eager=False) is None
        True
    """

    def __init__(self) -> None:
        self.needs_rebalance = False
        self._connectors: dict[str, None] = {}
        self._targets: dict[str, None] = {}
        self._tasks: dict[ConnectorTaskId, None] = {}
        self._restarts: dict[str, RestartRequest] = {}

    def connector_updated(self, connector: str, known: bool) -> None:
        """Note a new config; `known`: the configs that the herder's thread uses have the connector."""
        if known:
            self._connectors[connector] = None
        else:
            self.needs_rebalance = True

    def connector_removed(self, connector: str, known: bool) -> None:
        """Note that a connector is gone; `known`: the configs that the herder's thread uses have it."""
        self.connector_updated(connector, not known)

    def tasks_updated(self, tasks: Collection[ConnectorTaskId]) -> None:
        """Note new configs of tasks."""
        self.needs_rebalance = True
        self._tasks.update(dict.fromkeys(tasks))

    def target_changed(self, connector: str) -> None:
        """Note a new target state."""
        self._targets[connector] = None

    def restart_requested(self, request: RestartRequest) -> None:
        """Note a request for a restart."""
        waiting = self._restarts.get(request.connector)
        if waiting is None or request.impact > waiting.impact:
            self._restarts[request.connector] = request

    def take(self, eager: bool) -> TakenChanges | None:
        """Remove and return the changes; None: there is nothing to apply.

        Args:
            eager: The group uses the eager protocol, where tasks change by rebalances only.
        """
        if not (self.needs_rebalance or self._connectors or self._targets or (self._tasks and not eager)):
            return None
        taken = TakenChanges(self.needs_rebalance, list(self._connectors), list(self._targets), list(self._tasks))
        self.needs_rebalance = False
        self._connectors, self._targets, self._tasks = {}, {}, {}
        return taken

    def take_restarts(self) -> list[RestartRequest]:
        """Remove and return the requests for restarts."""
        taken, self._restarts = list(self._restarts.values()), {}
        return taken
