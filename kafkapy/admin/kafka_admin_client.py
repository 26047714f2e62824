"""The synchronous admin client with kafka-python's interface."""

from __future__ import annotations

from typing import Any, Self, Unpack

from kafkapy.admin.kafka_python.core import KafkaPythonCore
from kafkapy.admin.methods import BlockingMethods
from kafkapy.clients import software
from kafkapy.clients.client_options import ClientOptions
from kafkapy.clients.config import ClientConfig
from kafkapy.clients.facade import merge_options, shows_options
from kafkapy.clients.network_client import NetworkClient
from kafkapy.clients.thread_driver import ThreadDriver

ADMIN_DEFAULTS: dict[str, Any] = {
    **ClientConfig.defaults(),
    "client_id": f"{software.NAME}-{software.VERSION}",
    "allow_auto_create_topics": False,
}


@shows_options(ADMIN_DEFAULTS)
class KafkaAdminClient(BlockingMethods):
    """Administers a cluster. Thread-safe; a context manager. The methods block and raise `kafkapy.errors`.

    The constructor connects, unless `api_version` is given. `metrics_*` are accepted without effect: this client has
    no metrics. The methods are those of `KafkaPythonCore`.

    Args:
        configs: Options with kafka-python's names and defaults (`DEFAULT_CONFIG`, docs/client_options.md).

    Raises:
        KafkaTimeoutError: No broker answers within `bootstrap_timeout_ms`.
        KafkaConfigurationError: An option is unknown or has a wrong value.

    Example:
        >>> from kafkapy.admin import NewTopic
        >>> with KafkaAdminClient(bootstrap_servers="localhost:9092") as admin:
        ...     created = admin.create_topics([NewTopic("example-admin", num_partitions=3)])
        ...     (described,) = admin.describe_topics(["example-admin"])
        >>> len(described["partitions"])
        3
    """

    DEFAULT_CONFIG = ADMIN_DEFAULTS

    def __init__(self, **configs: Unpack[ClientOptions]) -> None:
        self.config: dict[str, Any] = merge_options(self.DEFAULT_CONFIG, configs)
        config = ClientConfig.from_options(self.config)
        self._closed = False
        self._driver = ThreadDriver("kafkapy-admin")
        self._driver.start()
        try:
            self._client: NetworkClient = self._driver.call(NetworkClient, self._driver, config)
            self._core = KafkaPythonCore(self._client)
            if config.pinned_versions is None:
                self._driver.call(self._client.start)
                self.config["api_version"] = self._driver.call(self._client.broker_release)
        except BaseException:
            self.close()
            raise

    def _run(self, name: str, *args: Any, **kwargs: Any) -> Any:
        return self._driver.call(self._core.operation(name, args, kwargs))

    def close(self) -> None:
        """Close the connections. Idempotent."""
        if self._closed:
            return
        self._closed = True
        if self._driver.running and hasattr(self, "_client"):
            self._driver.call_soon_threadsafe(self._client.close)
        self._driver.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
