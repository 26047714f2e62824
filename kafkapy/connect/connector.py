"""What every connector is made of: a `Connector`, which plans tasks, and its tasks (Kafka's `connect.connector`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Protocol

from kafkapy.connect.config import ConfigDef


class ConnectorContext(Protocol):
    """What the worker does for a connector (Kafka's `ConnectorContext`). Methods can be called from any thread."""

    def request_task_reconfiguration(self) -> None:
        """Ask for `task_configs` again, because the connector would answer differently now."""
        ...

    def raise_error(self, error: BaseException) -> None:
        """Report an error that the connector cannot recover from: its state becomes FAILED."""
        ...


class ConnectorTask(ABC):
    """A part of a connector's work (Kafka's `Task`). The worker calls its methods on one thread, the task's own."""

    @abstractmethod
    def version(self) -> str:
        """The version that status and plugin list show, often the connector's."""

    @abstractmethod
    def start(self, config: Mapping[str, str]) -> None:
        """Begin with one of the configs that the connector's `task_configs` has returned.

        Raises:
            ConnectException: The task cannot run with this config; it becomes FAILED.
        """

    @abstractmethod
    def stop(self) -> None:
        """Give back what `start` has opened."""


class Connector(ABC):
    """Plans the tasks that copy data (Kafka's `Connector`); derive from `SourceConnector` or `SinkConnector`.

    Invariant: `context` is set from `initialize` on. The worker calls the methods one at a time, on the connector's thread,
    except `config`, which it calls on an instance that is never started.
    """

    context: ConnectorContext

    @abstractmethod
    def version(self) -> str:
        """The connector's version."""

    def initialize(
        self, context: ConnectorContext, task_configs: Sequence[Mapping[str, str | None]] | None = None
    ) -> None:
        """Take the context, before `start`.

        Args:
            context: What the worker does for this connector.
            task_configs: Configs of the tasks that run already, after a failure; None if there are none (default).
        """
        self.context = context

    @abstractmethod
    def start(self, config: Mapping[str, str]) -> None:
        """Begin. `config` is the connector's, with the values that config providers have put in."""

    def reconfigure(self, config: Mapping[str, str]) -> None:
        """Take another config; by default by `stop` and `start`."""
        self.stop()
        self.start(config)

    @abstractmethod
    def task_class(self) -> type[ConnectorTask]:
        """The class of the tasks; it is made without arguments."""

    @abstractmethod
    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return one config for each task, at most `max_tasks` (`tasks.max`)."""

    @abstractmethod
    def stop(self) -> None:
        """End what `start` has begun. The tasks are stopped apart from it."""

    @abstractmethod
    def config(self) -> ConfigDef:
        """The configs that the connector knows; validation, REST answers and documentation come from it."""
