"""A worker's process (Kafka's `AbstractConnectCli`): REST interface, herder, and their end on a signal."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.clients import make_admin
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.metrics_page import MetricsListener
from kafkapy.connect.plugins import KINDS, Plugins
from kafkapy.connect.rest.rest_extensions import PasswordFileAuth
from kafkapy.connect.rest.rest_listeners import ConnectRestConfig, RestListeners, worker_tls
from kafkapy.connect.rest.rest_server import RestApi
from kafkapy.connect.rest.worker_client import RestWorkerClient
from kafkapy.http.process import stop_reactor
from kafkapy.protocol.errors import KafkaError

log = logging.getLogger("kafkapy.connect")


_CONVERTERS = {"key.converter": "converter", "value.converter": "converter", "header.converter": "header_converter"}
"""The kind of plugin that a config names."""


def check_converters(properties: Mapping[str, str], plugins: Plugins) -> None:
    """Refuse a worker's converters that are not there, so that it is not each task that fails.

    Args:
        properties: The worker's.
        plugins: Finds the classes.

    Raises:
        ConfigException: A class cannot be found, or is no converter.
    """
    for config, kind in _CONVERTERS.items():
        name = properties.get(config)
        if not name:
            continue
        try:
            found = plugins.find_class(name)
        except LookupError as error:
            why = str(error) if ":" in name else f"Class {name} could not be found."
            raise ConfigException.invalid(config, name, why) from None
        if not (isinstance(found, type) and issubclass(found, KINDS[kind])):
            raise ConfigException.invalid(config, name, f"It is no {kind.replace('_', ' ')}")


class ConnectProcess(ABC):
    """What `kafkapy.http.process.run_process` runs. Derive from it for standalone and distributed workers.

    Invariant: requests are told that the worker starts until the herder has started.
    """

    def __init__(self, properties: Mapping[str, str], plugin_path: Sequence[str], reactor: Any) -> None:
        """
        Args:
            properties: The worker's.
            plugin_path: `plugin.path`, parsed.
            reactor: Twisted's.

        Raises:
            ConfigException: A property is wrong.
        """
        self.properties = properties
        self.plugins = Plugins(plugin_path)
        check_converters(properties, self.plugins)
        self.client = RestWorkerClient(worker_tls(properties))
        self._auth = PasswordFileAuth.of(properties)
        self.failure: BaseException | None = None
        self._reactor = reactor
        self._rest = RestListeners(ConnectRestConfig.of(properties), reactor)
        self._metrics = MetricsListener.of(properties, reactor)
        self._herder: Any = None

    @abstractmethod
    def make_herder(self, worker_id: str, url: str, cluster_id: str) -> Any:
        """Make the herder with its worker. Raises ConfigException, ConnectException, KafkaError.

        Args:
            worker_id: `host:port` of the REST interface.
            url: The REST interface's, as others reach it.
            cluster_id: Of the Kafka cluster.
        """

    def started(self) -> None:  # noqa: B027  # nothing by default
        """The herder has started, and requests are answered. Raises ConnectException: the process ends."""

    def start_herder(self) -> None:
        """Start the herder. Raises ConfigException, ConnectException, KafkaError: the process ends."""
        self.herder.start()

    @property
    def herder(self) -> Any:
        return self._herder

    def end(self) -> None:
        """End the process; from any thread."""
        self._reactor.callFromThread(stop_reactor, self._reactor)

    # -- HttpProcess

    def start(self) -> None:
        """Raises ConfigException, ConnectException, KafkaError."""
        from twisted.internet.threads import blockingCallFromThread

        cluster_id = find_cluster_id(self.properties)
        blockingCallFromThread(self._reactor, self._rest.bind)
        if self._metrics is not None:
            self._metrics.listen()
        log.info("The REST interface listens; others reach it by %s", self._rest.url)
        herder = self.make_herder(self._rest.worker_id, self._rest.url, cluster_id)
        self._herder = herder
        if self._metrics is not None:
            self._metrics.serve(
                herder.worker.metrics.read, lambda: "" if herder.is_ready else "The worker is starting up"
            )
        self.start_herder()
        self._rest.serve(RestApi(herder, self.client, with_admin=self._rest.with_admin, auth=self._auth))
        self.started()

    def open(self) -> None:  # noqa: B027  # for no worker
        """`start` has done it: a worker listens before its herder is there."""

    def stop(self) -> None:
        self._rest.close()
        if self._metrics is not None:
            self._metrics.stop()
        if self._herder is not None:
            self._herder.stop()


def find_cluster_id(properties: Mapping[str, str]) -> str:
    """Ask the Kafka cluster for its id. Raises ConnectException.

    Args:
        properties: The worker's.
    """
    try:
        with make_admin({"bootstrap.servers": "localhost:9092", **properties}) as admin:
            return str(admin.describe_cluster().cluster_id)
    except KafkaError as error:
        raise ConnectException(
            "Failed to connect to and describe Kafka cluster. Check worker's broker connection and security properties: "
            f"{error}"
        ) from error
