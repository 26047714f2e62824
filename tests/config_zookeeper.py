"""The part of `KafkaZkClient` that configs need, in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kafkapy.zk.errors import ZooKeeperError
from kafkapy.zk.handlers import StateChangeHandler, ZNodeChildChangeHandler
from kafkapy.zk.zk_data import ConfigEntityChangeNotificationZNode, ConfigEntityZNode, TopicZNode


class ConfigZooKeeper:
    """Nodes with their data and creation time; watches fire at once, on the caller's thread."""

    def __init__(self) -> None:
        self.nodes: dict[str, bytes] = {}
        self.ctimes: dict[str, int] = {}
        self.now = 0
        self.handlers: dict[str, ZNodeChildChangeHandler] = {}
        self.state_handlers: dict[str, StateChangeHandler] = {}
        self._sequence = 0
        self.requests = 0
        """How often somebody waited for what topics have, or for their configs to be written."""
        self.broken: set[str] = set()
        """Topics whose configs can't be written."""

    def add_topic(self, topic: str, configs: Mapping[str, str] | None = None) -> None:
        self.nodes[TopicZNode.path(topic)] = b"{}"
        self.set_or_create_entity_configs("topics", topic, configs or {})

    @property
    def notifications(self) -> list[str]:
        """Entities that changes were announced of, oldest first."""
        prefix = ConfigEntityChangeNotificationZNode.create_path()
        return [
            ConfigEntityChangeNotificationZNode.decode(data)
            for path, data in sorted(self.nodes.items())
            if path.startswith(prefix)
        ]

    def get_entity_configs(self, entity_type: str, entity: str) -> dict[str, str]:
        return ConfigEntityZNode.decode(self.nodes.get(ConfigEntityZNode.path(entity_type, entity)))

    def get_entities_configs(self, entity_type: str, entities: Iterable[str]) -> dict[str, dict[str, str]]:
        self.requests += 1
        return {entity: self.get_entity_configs(entity_type, entity) for entity in entities}

    def get_all_entities_with_config(self, entity_type: str) -> list[str]:
        return self.get_children(f"/config/{entity_type}")

    def set_or_create_entity_configs(
        self, entity_type: str, entity: str, config: Mapping[str, str], check_controller: bool = True
    ) -> None:
        self.nodes[ConfigEntityZNode.path(entity_type, entity)] = ConfigEntityZNode.encode(config)

    def set_or_create_configs_of_topics(self, configs: Mapping[str, Mapping[str, str]]) -> dict[str, ZooKeeperError]:
        self.requests += 1
        for topic in configs.keys() - self.broken:
            self.set_or_create_entity_configs("topics", topic, configs[topic])
        return {topic: ZooKeeperError("no") for topic in self.broken & configs.keys()}

    def look_for_topics(self, topics: Iterable[str]) -> tuple[set[str], set[str]]:
        self.requests += 1
        return {topic for topic in topics if TopicZNode.path(topic) in self.nodes}, set()

    def create_config_change_notification(self, *entity_paths: str) -> None:
        self.requests += 1
        for path in entity_paths:
            self.add_notification(ConfigEntityChangeNotificationZNode.encode(path))

    def add_notification(self, data: bytes) -> None:
        path = f"{ConfigEntityChangeNotificationZNode.create_path()}{self._sequence:010d}"
        self._sequence += 1
        self.nodes[path], self.ctimes[path] = data, self.now
        handler = self.handlers.get(ConfigEntityChangeNotificationZNode.path)
        if handler is not None:
            handler.handle_child_change()

    def get_children(self, path: str) -> list[str]:
        below = (node[len(path) + 1 :] for node in self.nodes if node.startswith(path + "/"))
        return list(dict.fromkeys(rest.partition("/")[0] for rest in below))

    def get_data_and_ctime(self, path: str) -> tuple[bytes | None, int] | None:
        return (self.nodes[path], self.ctimes.get(path, 0)) if path in self.nodes else None

    def get_many(self, paths: Sequence[str]) -> list[tuple[bytes | None, int] | None]:
        return [(self.nodes[path], 0) if path in self.nodes else None for path in paths]

    def path_exists(self, path: str) -> bool:
        return path in self.nodes

    def delete_path(self, path: str) -> bool:
        gone = [node for node in self.nodes if node == path or node.startswith(path + "/")]
        for node in gone:
            del self.nodes[node]
        return bool(gone)

    def register_znode_child_change_handler(self, handler: ZNodeChildChangeHandler) -> None:
        self.handlers[handler.path] = handler

    def unregister_znode_child_change_handler(self, path: str) -> None:
        self.handlers.pop(path, None)

    def register_state_change_handler(self, handler: StateChangeHandler) -> None:
        self.state_handlers[handler.name] = handler

    def unregister_state_change_handler(self, name: str) -> None:
        self.state_handlers.pop(name, None)
