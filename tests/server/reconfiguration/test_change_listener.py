from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from kafkapy.common.time import MockTime
from kafkapy.server.config.dynamic_broker_config import DynamicBrokerConfig
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.reconfiguration.change_handlers import config_handlers
from kafkapy.server.reconfiguration.change_listener import ZkConfigChangeListener
from kafkapy.server.replication.replication_quota import ReplicationQuota, ReplicationThrottles
from kafkapy.zk.change_notifications import CHANGE_EXPIRATION_MS
from tests.config_zookeeper import ConfigZooKeeper
from tests.waiting import HANG_SECONDS


class Listener:
    """A listener that remembers what it handed on."""

    def __init__(self, zookeeper: ConfigZooKeeper, fail_on: str = "") -> None:
        self.applied: list[tuple[str, str, dict[str, str]]] = []
        self.time = MockTime(0)
        self.changed = threading.Semaphore(0)
        self.fail_on = fail_on
        client: Any = zookeeper
        handlers = {name: self._handler(name) for name in ("topics", "users", "brokers")}
        self.listener = ZkConfigChangeListener(client, handlers, lambda function, *args: function(*args), self.time)

    def _handler(self, entity_type: str) -> Callable[[str, dict[str, str]], None]:
        def handle(entity: str, configs: dict[str, str]) -> None:
            if entity == self.fail_on:
                raise ValueError("a broken config")
            self.applied.append((entity_type, entity, configs))
            self.changed.release()

        return handle


def change(zookeeper: ConfigZooKeeper, entity_type: str, entity: str, **configs: str) -> None:
    zookeeper.set_or_create_entity_configs(entity_type, entity, configs)
    zookeeper.create_config_change_notification(f"{entity_type}/{entity}")


@pytest.fixture
def zookeeper() -> ConfigZooKeeper:
    return ConfigZooKeeper()


def test_changes_are_handed_on_once_and_in_order(zookeeper: ConfigZooKeeper) -> None:
    heard = Listener(zookeeper)
    change(zookeeper, "topics", "a", x="1")
    change(zookeeper, "users", "alice/clients/app", y="2")
    heard.listener.process_notifications()
    heard.listener.process_notifications()
    change(zookeeper, "topics", "a", x="3")
    heard.listener.process_notifications()
    assert heard.applied == [
        ("topics", "a", {"x": "1"}),
        ("users", "alice/clients/app", {"y": "2"}),
        ("topics", "a", {"x": "3"}),
    ]


def test_at_start_everything_that_is_there_is_applied(zookeeper: ConfigZooKeeper) -> None:
    for entity_type, entity in (("topics", "a"), ("users", "alice"), ("users", "bob/clients/app"), ("brokers", "0")):
        change(zookeeper, entity_type, entity, x=entity)
    heard = Listener(zookeeper)
    heard.listener.startup()
    heard.listener.shutdown()
    assert sorted(entry for entry in heard.applied if entry[2]) == [
        ("brokers", "0", {"x": "0"}),
        ("topics", "a", {"x": "a"}),
        ("users", "alice", {"x": "alice"}),
        ("users", "bob/clients/app", {"x": "bob/clients/app"}),
    ]


def test_a_watch_wakes_the_thread(zookeeper: ConfigZooKeeper) -> None:
    heard = Listener(zookeeper)
    heard.listener.startup()
    change(zookeeper, "topics", "a", x="1")
    assert heard.changed.acquire(timeout=HANG_SECONDS)
    heard.listener.shutdown()
    assert heard.applied == [("topics", "a", {"x": "1"})]
    assert (zookeeper.handlers, zookeeper.state_handlers) == ({}, {})


def test_a_new_session_looks_again(zookeeper: ConfigZooKeeper) -> None:
    heard = Listener(zookeeper)
    heard.listener.startup()
    watches, zookeeper.handlers = zookeeper.handlers, {}
    change(zookeeper, "topics", "a", x="1")
    zookeeper.handlers = watches
    (handler,) = zookeeper.state_handlers.values()
    handler.after_initializing_session()
    assert heard.changed.acquire(timeout=HANG_SECONDS)
    heard.listener.shutdown()


def test_old_notifications_are_deleted_and_younger_stay(zookeeper: ConfigZooKeeper) -> None:
    heard = Listener(zookeeper)
    change(zookeeper, "topics", "a")
    zookeeper.now = 1000
    change(zookeeper, "topics", "b")
    heard.time.advance(CHANGE_EXPIRATION_MS)
    heard.listener.process_notifications()
    assert zookeeper.notifications == ["topics/a", "topics/b"]
    heard.time.advance(1)
    heard.listener.process_notifications()
    assert zookeeper.notifications == ["topics/b"]
    assert [entity for _, entity, _ in heard.applied] == ["a", "b"]


@pytest.mark.parametrize(
    "data",
    [
        b"not json",
        b"{}",
        b'{"version":3,"entity_path":"topics/a"}',
        b'{"version":2,"entity_path":"moons/x"}',
        b'{"version":2,"entity_path":"topics"}',
        b'{"version":2}',
    ],
)
def test_what_cannot_be_understood_is_logged_and_passed_over(
    zookeeper: ConfigZooKeeper, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    heard = Listener(zookeeper)
    zookeeper.add_notification(data)
    change(zookeeper, "topics", "a")
    heard.listener.process_notifications()
    assert [entity for _, entity, _ in heard.applied] == ["a"]
    assert "error processing change notification" in caplog.text


def test_old_notifications_of_version_1_are_understood(zookeeper: ConfigZooKeeper) -> None:
    heard = Listener(zookeeper)
    zookeeper.add_notification(b'{"version":1,"entity_type":"topics","entity_name":"a"}')
    heard.listener.process_notifications()
    assert heard.applied == [("topics", "a", {})]


def test_a_handler_that_fails_does_not_stop_the_others(
    zookeeper: ConfigZooKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    heard = Listener(zookeeper, fail_on="a")
    change(zookeeper, "topics", "a")
    change(zookeeper, "topics", "b")
    heard.listener.process_notifications()
    assert [entity for _, entity, _ in heard.applied] == ["b"]
    assert "error applying configs of topics/a" in caplog.text


def test_credentials_do_not_show_in_the_log(zookeeper: ConfigZooKeeper, caplog: pytest.LogCaptureFixture) -> None:
    heard = Listener(zookeeper)
    zookeeper.set_or_create_entity_configs("users", "alice", {"SCRAM-SHA-256": "salt=abc"})
    zookeeper.create_config_change_notification("users/alice")
    with caplog.at_level(logging.INFO):
        heard.listener.process_notifications()
    assert heard.applied == [("users", "alice", {"SCRAM-SHA-256": "salt=abc"})]
    assert "salt=abc" not in caplog.text


# ------------------------------------------------------------------------------------------- what the handlers do


def handlers_of(config: KafkaConfig) -> tuple[dict[str, Any], DynamicBrokerConfig, list[tuple[str, Any]]]:
    told: list[tuple[str, Any]] = []
    dynamic_config = DynamicBrokerConfig(config)
    handlers = config_handlers(
        config,
        dynamic_config,
        lambda topic, configs: told.append((topic, configs)),
        lambda topic: told.append((topic, "unclean")),
        ReplicationThrottles(*(ReplicationQuota(MockTime()) for _ in range(3))),
        {
            entity_type: partial(lambda kind, name, configs: told.append((f"{kind} {name}", configs)), entity_type)
            for entity_type in ("clients", "users", "ips")
        },
    )
    return handlers, dynamic_config, told


def test_topics_go_to_the_log_manager_and_unclean_elections_to_the_controller() -> None:
    handlers, _, told = handlers_of(KafkaConfig.from_properties({"zookeeper.connect": "z:1"}))
    handlers["topics"]("t", {"retention.ms": "5", "unclean.leader.election.enable": "true"})
    handlers["topics"]("t", {"unclean.leader.election.enable": "false", "message.format.version": "2.0"})
    assert told == [
        ("t", {"retention.ms": "5", "unclean.leader.election.enable": "true"}),
        ("t", "unclean"),
        ("t", {"unclean.leader.election.enable": "false"}),
    ]


def test_an_older_protocol_keeps_an_older_message_format(caplog: pytest.LogCaptureFixture) -> None:
    versions = {"inter.broker.protocol.version": "2.0", "log.message.format.version": "2.0"}
    handlers, _, told = handlers_of(KafkaConfig.from_properties({"zookeeper.connect": "z:1", **versions}))
    handlers["topics"]("t", {"message.format.version": "0.10.2"})
    handlers["topics"]("t", {"message.format.version": "2.8"})
    assert told == [("t", {"message.format.version": "0.10.2"}), ("t", {})]
    assert "is ignored for `t` because `2.8` is higher" in caplog.text


def test_brokers_take_their_own_configs_and_all_brokers_only() -> None:
    config = KafkaConfig.from_properties({"zookeeper.connect": "z:1", "broker.id": "3"})
    handlers, dynamic_config, _ = handlers_of(config)
    handlers["brokers"]("<default>", {"num.io.threads": "9"})
    handlers["brokers"]("3", {"message.max.bytes": "5"})
    handlers["brokers"]("4", {"message.max.bytes": "7"})
    assert (config.num_io_threads, config.message_max_bytes) == (9, 5)
    assert dynamic_config.dynamic_broker == {"message.max.bytes": "5"}


def test_users_and_their_quotas_are_handed_on() -> None:
    handlers, _, told = handlers_of(KafkaConfig.from_properties({"zookeeper.connect": "z:1"}))
    for entity_type in ("clients", "users", "ips"):
        handlers[entity_type]("x", {"producer_byte_rate": "5"})
    assert told == [(f"{entity_type} x", {"producer_byte_rate": "5"}) for entity_type in ("clients", "users", "ips")]
