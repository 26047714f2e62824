from __future__ import annotations

import logging

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.server.config.dynamic_broker_config import DynamicBrokerConfig
from kafkapy.server.config.kafka_config import KafkaConfig

WRAPPED = (
    "Invalid value org.apache.kafka.common.config.ConfigException: {} for configuration Invalid dynamic configuration"
)

MORE = "PLAINTEXT:PLAINTEXT,MORE:PLAINTEXT"


class Part:
    """A part of the broker that remembers what it is told."""

    def __init__(self, *names: str, refuses: str = "") -> None:
        self.reconfigurable_configs = frozenset(names)
        self.refuses = refuses
        self.changes: list[tuple[int, int]] = []

    def validate_reconfiguration(self, new_config: KafkaConfig) -> None:
        if self.refuses:
            raise ConfigException(self.refuses)

    def reconfigure(self, old_config: KafkaConfig, new_config: KafkaConfig) -> None:
        self.changes.append((old_config.message_max_bytes, new_config.message_max_bytes))


def dynamic(**static: str) -> DynamicBrokerConfig:
    properties = {name.replace("_", "."): value for name, value in static.items()}
    config = KafkaConfig.from_properties({"zookeeper.connect": "z:1", "broker.id": "0", **properties})
    return DynamicBrokerConfig(config)


def test_this_brokers_configs_go_before_all_brokers_before_the_file() -> None:
    config = dynamic(message_max_bytes="1", num_io_threads="4")
    assert config.config.message_max_bytes == 1
    config.update_default_config({"message.max.bytes": "2", "num.io.threads": "5"})
    assert config.config.message_max_bytes == 2
    config.update_broker_config({"message.max.bytes": "3"})
    assert (config.config.message_max_bytes, config.config.num_io_threads) == (3, 5)
    config.update_broker_config({})
    assert config.config.message_max_bytes == 2
    config.update_default_config({})
    assert (config.config.message_max_bytes, config.config.num_io_threads) == (1, 4)


def test_a_coarser_unit_set_above_wins_over_a_finer_one_below() -> None:
    config = dynamic(log_retention_minutes="5")
    config.update_default_config({"log.retention.ms": "7"})
    assert config.config.log_retention_time_millis == 7
    config = dynamic(log_roll_ms="5")
    config.update_broker_config({"log.roll.ms": "9"})
    assert config.config.log_roll_time_millis == 9


def test_the_broker_keeps_its_object_and_parts_hear_of_their_configs() -> None:
    config = dynamic()
    held, concerned, other = config.config, Part("message.max.bytes"), Part("log.cleaner.threads")
    config.add_reconfigurable(concerned)
    config.add_reconfigurable(other)
    config.update_broker_config({"message.max.bytes": "5"})
    assert config.config is held
    assert (concerned.changes, other.changes) == ([(1048588, 5)], [])
    config.update_broker_config({"message.max.bytes": "5"})
    assert len(concerned.changes) == 1


def test_parts_hear_of_a_listeners_form_of_their_configs() -> None:
    config, part = dynamic(), Part("max.connections")
    config.add_reconfigurable(part)
    config.update_broker_config({"listener.name.plaintext.max.connections": "5"})
    assert len(part.changes) == 1
    assert config.config.listener_value("PLAINTEXT", "max.connections") == 5


def test_a_part_can_only_ask_for_configs_that_change() -> None:
    with pytest.raises(ValueError, match=r"broker\.id"):
        dynamic().add_reconfigurable(Part("broker.id"))


def test_what_cannot_be_applied_leaves_the_old_values(caplog: pytest.LogCaptureFixture) -> None:
    config = dynamic()
    config.update_broker_config({"message.max.bytes": "5"})
    config.update_broker_config({"log.retention.ms": "0", "message.max.bytes": "6"})
    assert config.config.message_max_bytes == 5
    assert config.dynamic_broker == {"message.max.bytes": "5"}
    assert "could not be applied" in caplog.text


def test_what_zookeeper_has_that_cannot_be_used_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    config = dynamic()
    with caplog.at_level(logging.ERROR):
        config.update_default_config(
            {
                "message.max.bytes": "5",
                "num.io.threads": "many",
                "broker.id": "7",
                "listeners": "PLAINTEXT://:1",
                "ssl.keystore.password": "x",
                "listener.name.plaintext.ssl.key.password": "encoded",
                "custom.plugin": "kept",
            }
        )
    assert config.dynamic_default == {"message.max.bytes": "5", "custom.plugin": "kept"}
    assert config.config.message_max_bytes == 5


def test_at_start_larger_steps_are_taken_than_while_running() -> None:
    config = dynamic(num_io_threads="2")
    config.initialize({"num.io.threads": "16"}, {})
    assert config.config.num_io_threads == 16
    config.update_default_config({"num.io.threads": "64"})
    assert config.config.num_io_threads == 16


@pytest.mark.parametrize(
    ("properties", "per_broker", "sentence"),
    [
        ({"broker.id": "9"}, True, "Cannot update these configs dynamically: Set(broker.id)"),
        (
            {"ssl.keystore.password": "x"},
            True,
            "These security configs can be dynamically updated only per-listener using the listener prefix: "
            "Set(ssl.keystore.password)",
        ),
        (
            {"listeners": "PLAINTEXT://:1"},
            False,
            "Cannot update these configs at default cluster level, broker id must be specified: Set(listeners)",
        ),
        (
            {"listener.name.plaintext.ssl.key.password": "x"},
            False,
            "Cannot update these configs at default cluster level, broker id must be specified: "
            "Set(listener.name.plaintext.ssl.key.password)",
        ),
        ({"num.io.threads": "x"}, True, "Invalid value x for configuration num.io.threads: Not a number of type INT"),
        (
            {"listener.name.plaintext.num.network.threads": "0"},
            True,
            "Invalid value 0 for configuration num.network.threads: Value must be at least 1",
        ),
        (
            {"leader.replication.throttled.rate": "-1"},
            True,
            "Invalid value -1 for configuration leader.replication.throttled.rate: Value must be at least 0",
        ),
        ({"log.retention.ms": "0"}, False, "log.retention.ms must be unlimited (-1) or, greater than or equal to 1"),
        (
            {"num.io.threads": "17"},
            True,
            WRAPPED.format(
                "Dynamic thread count update validation failed for num.io.threads=17, "
                "value should not be greater than double the current value 8"
            ),
        ),
        (
            {"background.threads": "4"},
            False,
            WRAPPED.format(
                "Dynamic thread count update validation failed for background.threads=4, "
                "value should be at least half the current value 10"
            ),
        ),
        (
            {"listener.name.plaintext.num.network.threads": "7"},
            True,
            WRAPPED.format(
                "Dynamic thread count update validation failed for num.network.threads=7, "
                "value should not be greater than double the current value 3"
            ),
        ),
        (
            {"log.cleaner.threads": "3"},
            True,
            WRAPPED.format("Log cleaner threads cannot be increased to more than double the current value 1"),
        ),
        ({"max.connections": "0"}, True, WRAPPED.format("Invalid max.connections 0")),
        (
            {"producer.id.expiration.ms": "0"},
            True,
            "Invalid value 0 for configuration producer.id.expiration.ms: Value must be at least 1",
        ),
        (
            {"listener.security.protocol.map": "PLAINTEXT:SSL"},
            True,
            WRAPPED.format("Security protocol cannot be updated for existing listener ListenerName(PLAINTEXT)"),
        ),
        (
            {"listeners": "PLAINTEXT://:9092", "listener.name.plaintext.sasl.enabled.mechanisms": "PLAIN"},
            True,
            WRAPPED.format(
                "Configs cannot be updated dynamically for existing listener ListenerName(PLAINTEXT), "
                "restart broker or create a new listener for update"
            ),
        ),
        (
            {"metric.reporters": "a.B"},
            False,
            WRAPPED.format(
                "Validation of dynamic config update of Set(metric.reporters) failed with class "
                "class kafka.server.DynamicMetricsReporters"
            ),
        ),
    ],
)
def test_what_may_not_change_is_refused(properties: dict[str, str], per_broker: bool, sentence: str) -> None:
    with pytest.raises(ConfigException) as refusal:
        dynamic().validate(properties, per_broker)
    assert str(refusal.value) == sentence


@pytest.mark.parametrize(
    ("properties", "per_broker"),
    [
        ({}, True),
        ({"num.io.threads": "16"}, True),
        ({"log.cleaner.threads": "2"}, False),
        ({"listener.name.plaintext.max.connections": "5"}, False),
        ({"advertised.listeners": "PLAINTEXT://elsewhere:1"}, True),
        ({"listeners": "PLAINTEXT://:9092,MORE://:9093", "listener.security.protocol.map": MORE}, True),
        ({"a.custom.name": "x"}, False),
        ({"follower.replication.throttled.rate": "99"}, True),
    ],
)
def test_what_may_change_is_taken(properties: dict[str, str], per_broker: bool) -> None:
    config = dynamic()
    config.validate(properties, per_broker)
    assert config.config.originals == config.static


def test_a_part_may_refuse() -> None:
    config = dynamic()
    config.add_reconfigurable(Part("message.max.bytes", refuses="not that"))
    with pytest.raises(ConfigException, match="not that"):
        config.validate({"message.max.bytes": "5"}, per_broker=True)
    config.update_broker_config({"message.max.bytes": "5"})
    assert config.config.message_max_bytes == 1048588


@pytest.mark.parametrize(
    ("secret", "per_broker", "sentence"),
    [
        ("", True, "Password encoder secret not configured"),
        ("s", False, "Password config can be defined only at broker level"),
    ],
)
def test_passwords_do_not_go_to_zookeeper_as_they_are(secret: str, per_broker: bool, sentence: str) -> None:
    config = dynamic(**({"password_encoder_secret": secret} if secret else {}))
    with pytest.raises(ConfigException, match=sentence):
        config.to_persistent({"listener.name.x.ssl.key.password": "pw"}, per_broker)
    assert config.to_persistent({"message.max.bytes": "5"}, per_broker) == {"message.max.bytes": "5"}


KEY_PASSWORD = "listener.name.plaintext.ssl.key.password"


def test_passwords_are_encoded_and_come_back(caplog: pytest.LogCaptureFixture) -> None:
    config = dynamic(password_encoder_secret="s")
    stored = config.to_persistent({KEY_PASSWORD: "pw", "message.max.bytes": "5"}, per_broker=True)
    assert stored["message.max.bytes"] == "5"
    assert stored[KEY_PASSWORD].startswith("initializationVector:")
    assert config.from_persistent(stored, per_broker=True)[KEY_PASSWORD] == "pw"
    restarted = dynamic(password_encoder_secret="s")
    restarted.initialize({}, stored)
    assert restarted.dynamic_broker[KEY_PASSWORD] == "pw"
    for secret in ({"password_encoder_secret": "other"}, {}):
        with caplog.at_level(logging.ERROR):
            left = dynamic(**secret).from_persistent(stored, per_broker=True)
        assert left == {"message.max.bytes": "5"}
        assert f"Dynamic password config {KEY_PASSWORD} could not be decoded" in caplog.text


def test_passwords_of_the_old_secret_are_encoded_anew() -> None:
    stored = dynamic(password_encoder_secret="old").to_persistent({KEY_PASSWORD: "pw", "message.max.bytes": "5"}, True)
    config = dynamic(password_encoder_secret="new", password_encoder_old_secret="old")
    fresh = config.re_encoded(stored)
    assert fresh is not None
    assert fresh["message.max.bytes"] == "5"
    assert config.from_persistent(fresh, per_broker=True)[KEY_PASSWORD] == "pw"
    assert config.re_encoded(fresh) is None
    assert dynamic(password_encoder_secret="new").re_encoded(stored) is None
