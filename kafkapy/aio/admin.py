"""The admin client for asyncio."""

from __future__ import annotations

from typing import Any, Unpack

from kafkapy.admin import ConfigResource as ConfigResource  # aiokafka's programs import these from here
from kafkapy.admin import ConfigResourceType as ConfigResourceType
from kafkapy.admin import NewPartitions as NewPartitions
from kafkapy.admin import NewTopic as NewTopic
from kafkapy.admin.kafka_admin_client import ADMIN_DEFAULTS
from kafkapy.admin.kafka_python.core import KafkaPythonCore
from kafkapy.admin.methods import AwaitableMethods
from kafkapy.aio.base import AsyncClient, aiokafka_start_errors, ask
from kafkapy.aio.records_to_delete import RecordsToDelete as RecordsToDelete
from kafkapy.clients.client_options import ClientOptions
from kafkapy.clients.config import ClientConfig
from kafkapy.clients.facade import merge_options, shows_options
from kafkapy.clients.network_client import NetworkClient
from kafkapy.errors import IllegalStateError


@shows_options(ADMIN_DEFAULTS)
class KafkaAdminClient(AwaitableMethods, AsyncClient):
    """Administers a cluster: `async with KafkaAdminClient(bootstrap_servers=...) as admin: await admin.list_topics()`.

    Options and methods are those of `kafkapy.KafkaAdminClient`; the methods are coroutines. `start` connects and raises
    KafkaTimeoutError if no broker answers within `bootstrap_timeout_ms` or `request_timeout_ms`.

    Args:
        configs: Options of all clients, docs/client_options.md.

    Example:
        >>> import asyncio
        >>> async def main():
        ...     async with KafkaAdminClient(bootstrap_servers="localhost:9092") as admin:
        ...         await admin.create_topics(["example-aio-admin"])
        ...         return "example-aio-admin" in await admin.list_topics()
        >>> asyncio.run(main())
        True
    """

    DEFAULT_CONFIG = ADMIN_DEFAULTS

    def __init__(self, **configs: Unpack[ClientOptions]) -> None:
        self.config: dict[str, Any] = merge_options(self.DEFAULT_CONFIG, configs)
        super().__init__()
        self._client = NetworkClient(self._driver, ClientConfig.from_options(self.config))
        self._core = KafkaPythonCore(self._client)
        self._started = False

    async def start(self) -> None:
        config = self._client.config
        with aiokafka_start_errors():
            await ask(self._client.start(min(config.bootstrap_timeout_ms, config.request_timeout_ms)))
        self._started = True

    async def stop(self) -> None:
        self._client.close()

    async def close(self) -> None:
        """As `stop`."""
        await self.stop()

    async def _run(self, name: str, *args: Any, **kwargs: Any) -> Any:
        if not self._started:
            raise IllegalStateError("KafkaAdminClient is not started: await its start(), or use it in async with")
        return await ask(self._core.operation(name, args, kwargs)())


AIOKafkaAdminClient = KafkaAdminClient
"""aiokafka's name."""
