"""The worker's interfaces for source tasks and connectors (Kafka's `WorkerSourceTaskContext`,
`SourceConnectorContext`)."""

from __future__ import annotations

from typing import Any

from kafkapy.connect.source import OffsetStorageReader, TransactionContext
from kafkapy.connect.storage import ClusterConfigState, ConnectorTaskId


class WorkerSourceTaskContext:
    """The context of a source task."""

    def __init__(
        self,
        id: ConnectorTaskId,
        state: ClusterConfigState,
        reader: OffsetStorageReader,
        transactions: TransactionContext | None = None,
    ) -> None:
        """
        Args:
            id: The task.
            state: The cluster state with its config; config providers are called for each access.
            reader: Reads offsets.
            transactions: Default: the task does not define transaction boundaries.
        """
        self._id = id
        self._state = state
        self._reader = reader
        self._transactions = transactions

    def configs(self) -> dict[str, str | None]:
        return self._state.task_config(self._id) or {}

    def offset_storage_reader(self) -> OffsetStorageReader:
        return self._reader

    def transaction_context(self) -> TransactionContext | None:
        return self._transactions


class WorkerConnectorContext:
    """The context of a connector: the herder's context, and for a source the reader of its offsets."""

    def __init__(self, herder_context: Any, reader: OffsetStorageReader | None = None) -> None:
        """
        Args:
            herder_context: A `HerderConnectorContext`.
            reader: None: the connector is a sink (default).
        """
        self._herder = herder_context
        self._reader = reader

    def request_task_reconfiguration(self) -> None:
        self._herder.request_task_reconfiguration()

    def raise_error(self, error: BaseException) -> None:
        self._herder.raise_error(error)

    def offset_storage_reader(self) -> OffsetStorageReader:
        if self._reader is None:
            raise RuntimeError("A sink has no source offsets")
        return self._reader
