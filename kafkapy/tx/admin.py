"""The admin client for Twisted."""

from __future__ import annotations

from typing import Any, Unpack

from twisted.internet.defer import Deferred, succeed

from kafkapy.admin.kafka_admin_client import ADMIN_DEFAULTS
from kafkapy.admin.kafka_python.core import KafkaPythonCore
from kafkapy.admin.methods import DeferredMethods
from kafkapy.clients.client_options import ClientOptions
from kafkapy.clients.config import ClientConfig
from kafkapy.clients.facade import merge_options, shows_options
from kafkapy.clients.network_client import NetworkClient
from kafkapy.clients.twisted_driver import TwistedDriver
from kafkapy.tx.base import run


@shows_options(ADMIN_DEFAULTS)
class KafkaAdminClient(DeferredMethods):
    """Administers a cluster; `reactor` None: the global one.

    Options and methods are those of `kafkapy.KafkaAdminClient`; the methods return Deferreds. `start` connects, and
    fails with KafkaTimeoutError if no broker answers within `bootstrap_timeout_ms`.

    Args:
        reactor: Twisted's reactor. None (default): the global one.
        configs: Options of all clients, docs/client_options.md.

    Example:
        >>> from twisted.internet import defer, reactor
        >>> async def main():
        ...     async with KafkaAdminClient(bootstrap_servers="localhost:9092") as admin:
        ...         print(await admin.list_consumer_groups(broker_ids=[]))
        >>> done = defer.ensureDeferred(main()).addErrback(print).addBoth(lambda _: reactor.stop())
        >>> reactor.run()
        []
    """

    DEFAULT_CONFIG = ADMIN_DEFAULTS

    def __init__(self, reactor: Any = None, **configs: Unpack[ClientOptions]) -> None:
        self.config: dict[str, Any] = merge_options(self.DEFAULT_CONFIG, configs)
        self._client = NetworkClient(TwistedDriver(reactor), ClientConfig.from_options(self.config))
        self._core = KafkaPythonCore(self._client)

    def start(self) -> Deferred[KafkaAdminClient]:
        """Connect; fires with this client."""

        async def bootstrap() -> KafkaAdminClient:
            await self._client.start()
            return self

        return run(bootstrap())

    def stop(self) -> Deferred[None]:
        """Close the connections."""
        self._client.close()
        return succeed(None)

    def close(self) -> Deferred[None]:
        """The same as `stop`."""
        return self.stop()

    def __aenter__(self) -> Deferred[KafkaAdminClient]:
        return self.start()

    def __aexit__(self, *_: object) -> Deferred[None]:
        return self.stop()

    def _run(self, name: str, *args: Any, **kwargs: Any) -> Deferred[Any]:
        async def begin() -> Any:
            return await self._core.operation(name, args, kwargs)()

        return run(begin())
