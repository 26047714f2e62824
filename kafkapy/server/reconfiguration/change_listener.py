"""Watches /config/changes and applies changed configs (Kafka's `ZkConfigManager` with
`ZkNodeChangeNotificationListener`).

To change a config, a broker or tool writes it, and then creates a sequential znode below /config/changes that names
the entity. Every broker watches the children; for each number above the last one it handled, it reads that entity's
configs and applies them. The znode is only a notification without the configs, and may be missed: a broker reads all
configs at its start.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from kafkapy.common.time import Time
from kafkapy.server.config.zk_entity_configs import (
    CLIENTS,
    USERS,
    fetch_all_child_entity_configs,
    fetch_all_entity_configs,
)
from kafkapy.zk.change_notifications import CHANGE_EXPIRATION_MS, ZkNodeChangeNotificationListener
from kafkapy.zk.kafka_zk_client import KafkaZkClient
from kafkapy.zk.zk_data import ConfigEntityChangeNotificationZNode

log = logging.getLogger("kafkapy.server.ZkConfigManager")

ConfigHandler = Callable[[str, dict[str, str]], object]
"""Applies all configs of an entity. Called through `apply`, with the entity's sanitized name (`alice/clients/app`)."""


class ZkConfigChangeListener:
    """Reads changed configs on a thread of its own and passes them to the handlers.

    Invariant: an entity is read after its notification was created, and handlers are called in the order of the reads.
    One thread at a time reads: first the caller of `startup`, then the thread of notifications.
    """

    def __init__(
        self,
        zk_client: KafkaZkClient,
        handlers: Mapping[str, ConfigHandler],
        apply: Callable[..., object],
        time: Time,
        prepare: Callable[[str, str, Mapping[str, str]], object] = lambda entity_type, entity, configs: None,
        change_expiration_ms: int = CHANGE_EXPIRATION_MS,
    ) -> None:
        """`handlers`: type of entity (topics, brokers ...) -> handler, run by `apply(function, *args)`
        (`Clock.from_thread`). `prepare(entity_type, entity, configs)` is called before that, on the reading thread,
        and may block."""
        self._zk_client = zk_client
        self._handlers = handlers
        self._apply = apply
        self._prepare = prepare
        self._notifications = ZkNodeChangeNotificationListener(
            zk_client,
            ConfigEntityChangeNotificationZNode.path,
            ConfigEntityChangeNotificationZNode.sequence_prefix,
            self._process,
            time,
            change_expiration_ms=change_expiration_ms,
        )

    def startup(self) -> None:
        """Start watching, and apply all existing configs. Blocks on ZooKeeper."""
        self._notifications.watch()
        for entity_type in self._handlers:
            for entity, configs in fetch_all_entity_configs(self._zk_client, entity_type).items():
                self._hand_on(entity_type, entity, configs)
            if entity_type == USERS:
                for entity, configs in fetch_all_child_entity_configs(self._zk_client, USERS, CLIENTS).items():
                    self._hand_on(entity_type, entity, configs)
        self.process_notifications()
        self._notifications.begin()

    def shutdown(self) -> None:
        """Stop watching; waits for a read in progress."""
        self._notifications.shutdown()

    def process_notifications(self) -> None:
        """Process new notifications, delete old ones, set the watch again. Errors are logged; the next notification retries."""
        self._notifications.process_notifications()

    def _process(self, data: bytes) -> None:
        entity_type, _, entity = ConfigEntityChangeNotificationZNode.decode(data).partition("/")
        if entity_type not in self._handlers or not entity:
            known = ", ".join(f"'{handled}'/" for handled in self._handlers)
            raise ValueError(f"the changed entity must start with one of {known}")
        configs = self._zk_client.get_entity_configs(entity_type, entity)
        shown = {key: "[hidden]" if key.startswith("SCRAM-") else value for key, value in configs.items()}
        log.info("Processing override for entityPath: %s/%s with config: %s", entity_type, entity, shown)
        self._hand_on(entity_type, entity, configs)

    def _hand_on(self, entity_type: str, entity: str, configs: dict[str, str]) -> None:
        self._prepare(entity_type, entity, configs)
        self._apply(_call, self._handlers[entity_type], entity_type, entity, configs)


def _call(handler: ConfigHandler, entity_type: str, entity: str, configs: dict[str, str]) -> None:
    try:
        handler(entity, configs)
    except Exception as error:  # another broker or an operator may have written an invalid config
        log.error("error applying configs of %s/%s: %s", entity_type, entity, configs, exc_info=error)
