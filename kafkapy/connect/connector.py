"""Base classes of connectors: a `Connector`, which plans tasks, and its tasks (Kafka's `connect.connector`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Protocol

from kafkapy.connect.config import ConfigDef
from kafkapy.connect.metric_names import ConnectMetricName


class ConnectorContext(Protocol):
    """The worker's interface for a connector (Kafka's `ConnectorContext`). Thread-safe."""

    def request_task_reconfiguration(self) -> None:
        """Request another call of `task_configs`, because its result has changed."""
        ...

    def raise_error(self, error: BaseException) -> None:
        """Report an error that the connector cannot recover from: its state becomes FAILED."""
        ...


class ConnectorTask(ABC):
    """A part of a connector's work (Kafka's `Task`). The worker calls its methods on the task's thread."""

    @abstractmethod
    def version(self) -> str:
        """Return the version for status and plugin list, usually the connector's."""

    @abstractmethod
    def start(self, config: Mapping[str, str]) -> None:
        """Start the task with one of the configs that the connector's `task_configs` has returned.

        Raises:
            ConnectException: The task cannot run with this config; it becomes FAILED.
        """

    @abstractmethod
    def stop(self) -> None:
        """Release the resources that `start` has opened."""

    def read_metrics(self) -> Mapping[ConnectMetricName, float | str]:
        """Return the task's own metrics with their present values, for the worker's page; by default there are none.

        The worker calls it on any thread, from the creation of the task to its end.
        """
        return {}


class Connector(ABC):
    """Plans the tasks that copy data (Kafka's `Connector`); derive from `SourceConnector` or `SinkConnector`.

    Invariant: `context` is set from `initialize` on. The worker calls the methods one at a time, on the connector's thread,
    except `config` and `check`, which it calls on an instance that is never started.
    """

    context: ConnectorContext

    @abstractmethod
    def version(self) -> str:
        """The connector's version."""

    def initialize(
        self, context: ConnectorContext, task_configs: Sequence[Mapping[str, str | None]] | None = None
    ) -> None:
        """Receive the context, before `start`.

        Args:
            context: The worker's interface for this connector. task_configs: Configs of the running tasks, after a
                failure of the connector; None (default): there are none.
        """
        self.context = context

    def check(self, config: Mapping[str, str]) -> None:  # noqa: B027  # nothing by default
        """Check that values fit each other, and that needed packages are installed. Default: nothing.

        Validation calls it on an instance that is never started, if each value by itself is valid, so that a wrong config
        is refused before the connector is created.

        Args:
            config: The connector's config, in which variables of config providers are replaced.

        Raises:
            ConfigException: Values do not fit; one that `ConfigException.invalid` has made is shown at its config.
            ConnectException: The connector cannot run in this worker.
        """

    @abstractmethod
    def start(self, config: Mapping[str, str]) -> None:
        """Start the connector. `config`: its config, in which variables of config providers are replaced."""

    def reconfigure(self, config: Mapping[str, str]) -> None:
        """Apply a changed config; by default by `stop` and `start`."""
        self.stop()
        self.start(config)

    @abstractmethod
    def task_class(self) -> type[ConnectorTask]:
        """Return the class of the tasks; the worker instantiates it without arguments."""

    @abstractmethod
    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return one config for each task, at most `max_tasks` (`tasks.max`)."""

    @abstractmethod
    def stop(self) -> None:
        """Stop the connector. The worker stops the tasks separately."""

    @abstractmethod
    def config(self) -> ConfigDef:
        """Return the definitions of the connector's configs, for validation, REST responses and documentation."""
