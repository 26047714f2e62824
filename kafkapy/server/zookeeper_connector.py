"""A broker's first connection to ZooKeeper."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future

from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.zk.client_security import security_of_broker
from kafkapy.zk.kafka_zk_client import KafkaZkClient
from kafkapy.zk.session_closer import Session

log = logging.getLogger("kafkapy.server.KafkaServer")


class ZooKeeperConnector:
    """Connects to ZooKeeper and sees to it that Kafka's persistent paths are there. Where servers are named, that can begin
    before there is a broker: ZooKeeper syncs its disk before it answers, and meanwhile the broker's modules are imported."""

    def __init__(self, config: KafkaConfig, on_session: Callable[[Session | None], None]) -> None:
        """`on_session` hears of each ZooKeeper session, on kazoo's thread; None: closed."""
        self._config = config
        self._on_session = on_session
        self._begun: Future[KafkaZkClient] | None = None

    def begin(self) -> None:
        """Connect to `zookeeper.connect` in a thread; `connect` waits for that."""
        begun = self._begun = Future[KafkaZkClient]()

        def connect() -> None:
            try:
                begun.set_result(self._connect(self._config.zookeeper_connect))
            except BaseException as error:
                begun.set_exception(error)

        threading.Thread(target=connect, name="zk-connect", daemon=True).start()

    def connect(self, address: str) -> KafkaZkClient:
        """Blocks. `address`: `zookeeper.connect`, or where the embedded ZooKeeper is, for which nothing can have begun."""
        return self._connect(address) if self._begun is None else self._begun.result()

    def _connect(self, address: str) -> KafkaZkClient:
        config = self._config
        log.info("Connecting to zookeeper on %s", address)
        zk_client = KafkaZkClient.connect(
            address,
            config.zookeeper_session_timeout_ms,
            config.zk_connection_timeout_ms,
            config.zookeeper_max_in_flight_requests,
            on_session=self._on_session,
            security=security_of_broker(config.originals),
            secure_acls=config.zookeeper_set_acl,
        )
        zk_client.create_top_level_paths()
        return zk_client
