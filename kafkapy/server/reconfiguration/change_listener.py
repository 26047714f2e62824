"""Hears of changed configs through /config/changes and has them applied (Kafka's `ZkConfigManager` with its
`ZkNodeChangeNotificationListener`).

Who changes a config writes it, and then makes a sequential node below /config/changes that names the entity. Every
broker watches the children; for each number above the last one it handled it reads that entity's configs and applies
them. The node itself is only a bell: what was missed while a broker was down is read at its start.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from typing import Final

from kafkapy.common.time import Time
from kafkapy.server.config.zk_entity_configs import (
    CLIENTS,
    USERS,
    fetch_all_child_entity_configs,
    fetch_all_entity_configs,
)
from kafkapy.zk.handlers import StateChangeHandler, ZNodeChildChangeHandler
from kafkapy.zk.kafka_zk_client import KafkaZkClient
from kafkapy.zk.zk_data import ConfigEntityChangeNotificationZNode

log = logging.getLogger("kafkapy.server.ZkConfigManager")

CHANGE_EXPIRATION_MS: Final = 15 * 60 * 1000
"""Age at which a notification is deleted: a broker that was away longer has restarted."""

ConfigHandler = Callable[[str, dict[str, str]], object]
"""Applies an entity's configs, all of them. Called with its sanitized name (`alice/clients/app`), by `apply`."""


class ZkConfigChangeListener:
    """Reads changes on a thread of its own and hands them to the handlers.

    Invariant: every entity named by a notification up to `_last_executed_change` was read after that notification was
    made, and handed on in the order of reading. One thread at a time reads: the caller of `startup`, then our own.
    """

    def __init__(
        self,
        zk_client: KafkaZkClient,
        handlers: Mapping[str, ConfigHandler],
        apply: Callable[..., object],
        time: Time,
        prepare: Callable[[Mapping[str, str]], object] = lambda configs: None,
        change_expiration_ms: int = CHANGE_EXPIRATION_MS,
    ) -> None:
        """`handlers`: type of entity (topics, brokers ...) -> handler, run by `apply(function, *args)`
        (`Clock.from_thread`). `prepare(configs)` is called before, where it may block."""
        self._zk_client = zk_client
        self._handlers = handlers
        self._apply = apply
        self._time = time
        self._prepare = prepare
        self._change_expiration_ms = change_expiration_ms
        self._last_executed_change = -1
        self._bells: SimpleQueue[bool] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._path = ConfigEntityChangeNotificationZNode.path

    def startup(self) -> None:
        """Watch from now on, and apply every config there is. Blocks on ZooKeeper."""
        self._zk_client.register_state_change_handler(
            StateChangeHandler(f"change-notification-{self._path}", after_initializing_session=self._ring)
        )
        self._zk_client.register_znode_child_change_handler(ZNodeChildChangeHandler(self._path, self._ring))
        names = sorted(self._zk_client.get_children(self._path))
        if names:
            self._last_executed_change = _number(names[-1])  # the configs themselves are read below, all of them
        for entity_type, handler in self._handlers.items():
            for entity, configs in fetch_all_entity_configs(self._zk_client, entity_type).items():
                self._prepare(configs)
                self._apply(_call, handler, entity_type, entity, configs)
            if entity_type == USERS:
                for entity, configs in fetch_all_child_entity_configs(self._zk_client, USERS, CLIENTS).items():
                    self._apply(_call, handler, entity_type, entity, configs)
        self._purge_obsolete_notifications(self._time.milliseconds(), names)
        self._thread = threading.Thread(target=self._run, name=f"{self._path}-event-process-thread", daemon=True)
        self._thread.start()

    def shutdown(self) -> None:
        """Stop listening; waits for the change that is being read."""
        self._zk_client.unregister_state_change_handler(f"change-notification-{self._path}")
        self._zk_client.unregister_znode_child_change_handler(self._path)
        self._bells.put(False)
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def process_notifications(self) -> None:
        """Hand on what is new, delete what is old, arm the watch. Nothing is raised: the next bell retries."""
        try:
            names = sorted(self._zk_client.get_children(self._path))
            if names:
                log.info("Processing notification(s) to %s", self._path)
            now = self._time.milliseconds()
            for name in names:
                if _number(name) > self._last_executed_change:
                    self._process(name)
                    self._last_executed_change = _number(name)
            self._purge_obsolete_notifications(now, names)
        except Exception as error:
            log.error("Error while processing notification change for path = %s", self._path, exc_info=error)

    def _ring(self) -> None:
        """Called on ZooKeeper's threads."""
        if self._bells.empty():
            self._bells.put(True)

    def _run(self) -> None:
        while self._bells.get():
            self.process_notifications()

    def _process(self, name: str) -> None:
        path = ConfigEntityChangeNotificationZNode.path_of(name)
        found = self._zk_client.get_data_and_ctime(path)
        if found is None or found[0] is None:
            log.warning("read null data from %s", path)
            return
        try:
            entity_type, _, entity = ConfigEntityChangeNotificationZNode.decode(found[0]).partition("/")
            if entity_type not in self._handlers or not entity:
                known = ", ".join(f"'{handled}'/" for handled in self._handlers)
                raise ValueError(f"the changed entity must start with one of {known}")
            configs = self._zk_client.get_entity_configs(entity_type, entity)
        except (ValueError, KeyError) as error:
            log.error("error processing change notification %r from %s", found[0], path, exc_info=error)
            return
        shown = {key: "[hidden]" if key.startswith("SCRAM-") else value for key, value in configs.items()}
        log.info("Processing override for entityPath: %s/%s with config: %s", entity_type, entity, shown)
        self._prepare(configs)
        self._apply(_call, self._handlers[entity_type], entity_type, entity, configs)

    def _purge_obsolete_notifications(self, now: int, names: list[str]) -> None:
        for name in names:
            path = ConfigEntityChangeNotificationZNode.path_of(name)
            found = self._zk_client.get_data_and_ctime(path)
            if found is None:
                continue
            if now - found[1] <= self._change_expiration_ms:
                break  # the numbers grow with time: those that follow are younger
            log.debug("Purging change notification %s", path)
            self._zk_client.delete_path(path)


def _call(handler: ConfigHandler, entity_type: str, entity: str, configs: dict[str, str]) -> None:
    try:
        handler(entity, configs)
    except Exception as error:  # another broker, or a hand, wrote what this one cannot use
        log.error("error applying configs of %s/%s: %s", entity_type, entity, configs, exc_info=error)


def _number(name: str) -> int:
    return int(name.removeprefix(ConfigEntityChangeNotificationZNode.sequence_prefix))
