from __future__ import annotations

import json
from pathlib import Path
from typing import get_type_hints

import pytest

from kafkapy.common.broker import EndPoint
from kafkapy.common.config_def import (
    ConfigException,
    Password,
    to_text,
)
from kafkapy.common.properties import load_file
from kafkapy.common.wire_enums import ConfigType
from kafkapy.log.log_config import LogConfig
from kafkapy.server.config.kafka_config import KafkaConfig, base_name

REPOSITORY = Path(__file__).parents[3]
FACTS = REPOSITORY.parent / "shared" / "facts" / "broker-config.json"


def kafka_config(**properties: str) -> KafkaConfig:
    """`log_dirs="x"` sets log.dirs."""
    return from_properties({name.replace("_", "."): value for name, value in properties.items()})


def from_properties(properties: dict[str, str]) -> KafkaConfig:
    return KafkaConfig.from_properties({"zookeeper.connect": "z:1", **properties})


# ---------------------------------------------------------------------------------------------------------- tables


@pytest.mark.skipif(not FACTS.exists(), reason="the facts about Apache Kafka are not here")
def test_the_tables_agree_with_apache_kafka() -> None:
    facts = json.loads(FACTS.read_text())
    assert {fact["name"] for fact in facts["broker"]} == set(KafkaConfig.definition)
    assert {fact["name"] for fact in facts["topic"]} == set(LogConfig.definition)
    for fact in facts["broker"]:
        key = KafkaConfig.definition[fact["name"]]
        default = None if key.default is None else to_text(key.default)
        ours = (key.type.name.lower(), default, key.mode.value, key.importance.value, key.internal)
        assert ours == (fact["type"], fact["default"], fact["mode"], fact["importance"], fact["internal"]), key
        if not fact["name"].endswith(("copier.thread.pool.size", "expiration.thread.pool.size")):
            assert (str(key.validator) if key.validator else None) == fact["valid"], key
    for fact in facts["topic"]:
        key = LogConfig.definition[fact["name"]]
        topic = (key.type.name.lower(), to_text(key.default), str(key.validator) if key.validator else None)
        assert topic == (fact["type"], fact["default"], fact["valid"]), key
        assert list(key.synonyms) == fact["brokerSynonymsInOrder"], key


@pytest.mark.parametrize("table", [KafkaConfig, LogConfig])
def test_the_annotations_are_the_types_of_the_values(table: type[KafkaConfig] | type[LogConfig]) -> None:
    names = {
        ConfigType.BOOLEAN: bool,
        ConfigType.DOUBLE: float,
        ConfigType.LIST: list[str],
        ConfigType.PASSWORD: Password,
        **dict.fromkeys((ConfigType.INT, ConfigType.SHORT, ConfigType.LONG), int),
        **dict.fromkeys((ConfigType.STRING, ConfigType.CLASS), str),
    }
    hints = get_type_hints(table)
    for name, attribute in table.attributes.items():
        key = table.definition[name]
        expected = names[key.type] if key.default is not None else names[key.type] | None
        assert hints[attribute] == expected, name


def test_every_config_says_what_it_does() -> None:
    for key in [*KafkaConfig.definition.values(), *LogConfig.definition.values()]:
        assert key.doc.endswith("."), key


def test_the_defaults_themselves_are_allowed() -> None:
    for key in [*KafkaConfig.definition.values(), *LogConfig.definition.values()]:
        if key.default is not None and key.validator is not None:
            key.validator(key.name, key.default)


# ---------------------------------------------------------------------------------------------------------- values


def test_values_are_typed_and_have_kafkas_defaults() -> None:
    config = kafka_config(num_partitions=" 3 ", auto_create_topics_enable="FALSE")
    assert config.num_partitions == 3
    assert config.auto_create_topics_enable is False
    assert config.log_segment_bytes == 1 << 30
    assert config.zookeeper_connect == "z:1"
    assert config.zk_connection_timeout_ms == config.zookeeper_session_timeout_ms == 18000
    assert config.offsets_topic_replication_factor == 3
    assert config.get("zookeeper.clientCnxnSocket") is None
    assert len(config.values()) == 328


def test_the_shipped_server_properties_make_a_broker() -> None:
    config = KafkaConfig.from_properties(load_file(REPOSITORY / "config" / "server.properties"))
    assert config.broker_id == 0
    assert config.log_dirs == ["/tmp/kafka-logs"]


def test_listeners_are_end_points() -> None:
    config = from_properties(
        {
            "listeners": "internal://10.0.0.1:9092, EXTERNAL://:9093,V6://[::1]:9094",
            "listener.security.protocol.map": "INTERNAL:plaintext,EXTERNAL:SSL,V6:PLAINTEXT",
            "advertised.listeners": "INTERNAL://a.b:1,EXTERNAL://c.d:1",
            "inter.broker.listener.name": "internal",
            "control.plane.listener.name": "EXTERNAL",
        }
    )
    assert config.listeners == [
        EndPoint("10.0.0.1", 9092, "INTERNAL", "PLAINTEXT"),
        EndPoint(None, 9093, "EXTERNAL", "SSL"),
        EndPoint("::1", 9094, "V6", "PLAINTEXT"),
    ]
    assert [e.connection_string for e in config.advertised_listeners] == ["INTERNAL://a.b:1", "EXTERNAL://c.d:1"]
    assert (config.inter_broker_listener_name, config.inter_broker_security_protocol) == ("INTERNAL", "PLAINTEXT")
    assert config.control_plane_listener_name == "EXTERNAL"


def test_without_advertised_listeners_the_listeners_are_advertised() -> None:
    config = kafka_config()
    assert config.advertised_listeners == config.listeners == [EndPoint(None, 9092, "PLAINTEXT", "PLAINTEXT")]
    assert config.inter_broker_listener_name == "PLAINTEXT"
    assert config.control_plane_listener_name is None


@pytest.mark.parametrize(
    ("properties", "millis"),
    [
        ({}, 168 * 3_600_000),
        ({"log.retention.hours": "1"}, 3_600_000),
        ({"log.retention.hours": "1", "log.retention.minutes": "2"}, 120_000),
        ({"log.retention.hours": "1", "log.retention.minutes": "2", "log.retention.ms": "3"}, 3),
        ({"log.retention.ms": "-5"}, -1),
        ({"log.retention.hours": "-1"}, -1),
    ],
)
def test_the_finer_unit_of_retention_goes_first(properties: dict[str, str], millis: int) -> None:
    config = from_properties(properties)
    assert config.log_retention_time_millis == config.log_config_defaults().retention_ms == millis


def test_the_brokers_configs_are_the_topics_defaults() -> None:
    assert kafka_config().log_config_defaults().values() == LogConfig({}).values()
    defaults = from_properties(
        {
            "log.roll.hours": "2",
            "log.roll.jitter.ms": "7",
            "log.roll.jitter.hours": "1",
            "log.flush.scheduler.interval.ms": "9",
            "log.cleanup.policy": "compact",
            "message.max.bytes": "1000",
            "log.segment.delete.delay.ms": "11",
            "log.message.timestamp.difference.max.ms": "13",
            "log.message.timestamp.after.max.ms": "12",
            "log.cleaner.min.cleanable.ratio": "0.25",
        }
    ).log_config_defaults()
    assert (defaults.segment_ms, defaults.segment_jitter_ms, defaults.flush_ms) == (7_200_000, 7, 9)
    assert (defaults.compact, defaults.max_message_bytes, defaults.file_delete_delay_ms) == (True, 1000, 11)
    assert (defaults.message_timestamp_before_max_ms, defaults.message_timestamp_after_max_ms) == (13, 12)
    assert defaults.min_cleanable_dirty_ratio == 0.25
    assert defaults.overridden == frozenset()


@pytest.mark.parametrize(
    ("protocol", "message_format", "record_version", "zstd_supported"),
    [
        ("3.0", "0.10.2", 2, True),
        ("2.8", "0.10.2", 1, True),
        ("2.0", "0.9.0", 0, False),
        ("0.11.0", "0.11.0", 2, False),
    ],
)
def test_the_protocol_decides_whether_the_message_format_holds(
    protocol: str, message_format: str, record_version: int, zstd_supported: bool
) -> None:
    config = from_properties({"inter.broker.protocol.version": protocol, "log.message.format.version": message_format})
    defaults = config.log_config_defaults()
    assert (defaults.record_version, defaults.zstd_supported) == (record_version, zstd_supported)


def test_topics_show_the_full_version_of_the_brokers_message_format() -> None:
    versions = {"inter.broker.protocol.version": "2.8", "log.message.format.version": "0.10.2"}
    assert from_properties(versions).log_config_defaults().message_format_version == "0.10.2-IV0"


def test_data_directories_come_from_log_dirs_else_log_dir() -> None:
    assert kafka_config().log_dirs == ["/tmp/kafka-logs"]
    assert kafka_config(log_dir="/a").log_dirs == ["/a"]
    assert kafka_config(log_dir="/a", log_dirs="/b , /c,").log_dirs == ["/b", "/c"]


def test_node_id_and_broker_id_are_one() -> None:
    assert kafka_config(node_id="3").broker_id == 3
    assert kafka_config(broker_id="3").node_id == 3


def test_a_listeners_own_value_goes_before_the_general_one() -> None:
    config = from_properties({"max.connections": "5", "listener.name.internal.max.connections": "7"})
    assert config.listener_value("INTERNAL", "max.connections") == 7
    assert config.listener_value("EXTERNAL", "max.connections") == 5


def test_connections_per_address() -> None:
    config = from_properties({"max.connections.per.ip.overrides": "h.x:5, 127.0.0.1:6,::1:7"})
    assert config.max_connections_per_ip_overrides == {"h.x": 5, "127.0.0.1": 6, "::1": 7}


def test_secrets_do_not_show_in_the_log() -> None:
    config = from_properties({"ssl.key.password": "pw1", "some.plugin.key": "pw2", "num.partitions": "2"})
    text = config.values_text()
    assert "pw" not in text
    assert "num.partitions = 2" in text


def test_current_values_can_be_replaced_but_not_a_generated_id() -> None:
    config = kafka_config()
    config.broker_id = 1001
    config.update_current_config(kafka_config(num_io_threads="9"))
    assert (config.num_io_threads, config.broker_id) == (9, 1001)


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("log.dirs", "log.dirs"),
        ("listener.name.internal.ssl.key.password", "ssl.key.password"),
        ("listener.name.internal.scram-sha-256.sasl.jaas.config", "sasl.jaas.config"),
        ("listener.name.internal.custom.thing", "custom.thing"),
    ],
)
def test_the_config_behind_a_listeners_form(name: str, base: str) -> None:
    assert base_name(name) == base


# ---------------------------------------------------------------------------------------------------------- checks

REFUSED = [
    ({"num.io.threads": "0"}, "Invalid value 0 for configuration num.io.threads: Value must be at least 1"),
    ({"num.io.threads": "x"}, "Invalid value x for configuration num.io.threads: Not a number of type INT"),
    ({"log.segment.bytes": "10"}, "Invalid value 10 for configuration log.segment.bytes: Value must be at least 14"),
    (
        {"ssl.client.auth": "x"},
        "Invalid value x for configuration ssl.client.auth: String must be one of: required, requested, none",
    ),
    (
        {"remote.log.manager.copier.thread.pool.size": "0"},
        "Invalid value 0 for configuration remote.log.manager.copier.thread.pool.size: "
        "Value can be -1 or greater than 0",
    ),
    (
        {"controller.quorum.voters": "abc"},
        "Invalid configuration value for controller.quorum.voters. "
        "Each entry should be in the form `{id}@{host}:{port}`.",
    ),
    ({"log.retention.ms": "0"}, "log.retention.ms must be unlimited (-1) or, greater than or equal to 1"),
    ({"log.roll.ms": "0"}, "log.roll.ms must be greater than or equal to 1"),
    ({"log.roll.jitter.ms": "-1"}, "log.roll.jitter.ms must be greater than or equal to 0"),
    ({"log.dirs": " , "}, "At least one log directory must be defined via log.dirs or log.dir."),
    ({"log.cleaner.threads": "0"}, "log.cleaner.threads must be greater than or equal to 1"),
    ({"log.cleaner.threads": "200"}, "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."),
    (
        {"log.cleaner.min.compaction.lag.ms": "9", "log.cleaner.max.compaction.lag.ms": "5"},
        "conflict topic config setting min.compaction.lag.ms (9) > max.compaction.lag.ms (5)",
    ),
    (
        {"replica.fetch.wait.max.ms": "60000"},
        "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms to prevent unnecessary socket "
        "timeouts",
    ),
    (
        {"replica.fetch.wait.max.ms": "30001", "replica.socket.timeout.ms": "40000"},
        "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms to prevent frequent "
        "changes in ISR",
    ),
    (
        {"broker.id": "5000"},
        "broker.id must be greater than or equal to -1 and not greater than reserved.broker.max.id",
    ),
    (
        {"broker.id": "-1", "broker.id.generation.enable": "false"},
        "broker.id must be greater than or equal to 0",
    ),
    ({"broker.id": "1", "node.id": "2"}, "You must set `node.id` to the same value as `broker.id`."),
    (
        {"offsets.commit.required.acks": "5"},
        "offsets.commit.required.acks must be greater or equal to -1 and less or equal to "
        "offsets.topic.replication.factor",
    ),
    ({"offsets.topic.compression.codec": "9"}, "Unknown compression type id: 9"),
    (
        {"group.coordinator.rebalance.protocols": "consumer"},
        "Disabling the 'classic' protocol is not supported.",
    ),
    (
        {"group.coordinator.rebalance.protocols": "classic,consumer"},
        "The new 'consumer' rebalance protocol is only supported in KRaft cluster.",
    ),
    (
        {"group.consumer.session.timeout.ms": "1000"},
        "group.consumer.session.timeout.ms must be greater than or equals to group.consumer.min.session.timeout.ms",
    ),
    (
        {"listeners": "PLAINTEXT://:9092,FOO://:9093"},
        "Error creating broker listeners from 'PLAINTEXT://:9092,FOO://:9093': "
        "No security protocol defined for listener FOO",
    ),
    (
        {"listeners": "PLAINTEXT//:9092"},
        "Error creating broker listeners from 'PLAINTEXT//:9092': "
        "Unable to parse PLAINTEXT//:9092 to a broker endpoint",
    ),
    (
        {"listeners": "PLAINTEXT://a:99999999999"},
        "Error creating broker listeners from 'PLAINTEXT://a:99999999999': "
        "99999999999 is no port: it is a number from 0 to 65535",
    ),
    (
        {"listeners": "PLAINTEXT://:99999"},
        "Error creating broker listeners from 'PLAINTEXT://:99999': 99999 is no port: it is a number from 0 to 65535",
    ),
    (
        {"listener.name.plaintext.max.connections": "many"},
        "Invalid value many for configuration listener.name.plaintext.max.connections: Not a number of type INT",
    ),
    (
        {"controller.socket.timeout.ms": "-1"},
        "controller.socket.timeout.ms must be greater than or equal to 0",
    ),
    (
        {"log.cleaner.io.buffer.load.factor": "NaN"},
        "log.cleaner.io.buffer.load.factor must be a number, it is nan",
    ),
    *(
        (
            {"zookeeper.connect": text},
            f"Invalid value {text} for configuration zookeeper.connect: host:port,host:port/chroot is expected",
        )
        for text in ("z:99999", ":::", "a:1,", "z:1/a//b", "z:1/..", "z:0", "a b:1")
    ),
    (
        {"listeners": "PLAINTEXT://:9092,PLAINTEXT://:9093"},
        "Each listener must have a different name, listeners: PLAINTEXT://:9092,PLAINTEXT://:9093",
    ),
    (
        {"listeners": "PLAINTEXT://:9092,SSL://:9092"},
        "Each listener must have a different port, listeners: PLAINTEXT://:9092,SSL://:9092",
    ),
    (
        {"listeners": "PLAINTEXT://127.0.0.1:9092,SSL://127.0.0.2:9092"},
        "If you have two listeners on the same port then one needs to be IPv4 and the other IPv6, "
        "listeners: PLAINTEXT://127.0.0.1:9092,SSL://127.0.0.2:9092, port: 9092",
    ),
    ({"listeners": ""}, "There must be at least one broker advertised listener."),
    (
        {"listeners": "PLAINTEXT://a:9092", "advertised.listeners": "SSL://a:9092"},
        "inter.broker.listener.name must be a listener name defined in advertised.listeners. "
        "The valid options based on currently configured listeners are SSL",
    ),
    (
        {"listeners": "PLAINTEXT://a:1", "advertised.listeners": "PLAINTEXT://a:1,SSL://a:2"},
        "advertised.listeners listener names must be equal to or a subset of the ones defined in listeners. "
        "Found PLAINTEXT,SSL. The valid options based on the current configuration are PLAINTEXT",
    ),
    (
        {"listeners": "PLAINTEXT://0.0.0.0:9092"},
        "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address.",
    ),
    (
        {"inter.broker.listener.name": "PLAINTEXT", "security.inter.broker.protocol": "PLAINTEXT"},
        "Only one of inter.broker.listener.name and security.inter.broker.protocol should be set.",
    ),
    (
        {"inter.broker.listener.name": "FOO"},
        "Listener with name FOO defined in inter.broker.listener.name not found in listener.security.protocol.map.",
    ),
    (
        {"listener.security.protocol.map": "A:FOO"},
        "Invalid security protocol `FOO` defined in listener.security.protocol.map",
    ),
    (
        {"control.plane.listener.name": "C"},
        "Listener with C defined in control.plane.listener.name not found in listener.security.protocol.map.",
    ),
    (
        {"control.plane.listener.name": "SSL"},
        "control.plane.listener.name must be a listener name defined in advertised.listeners. "
        "The valid options based on currently configured listeners are PLAINTEXT",
    ),
    (
        {"control.plane.listener.name": "PLAINTEXT"},
        "control.plane.listener.name, when defined, should have a different value from the inter broker listener name. "
        "Currently they both have the value ListenerName(PLAINTEXT)",
    ),
    (
        {"early.start.listeners": "FOO"},
        "early.start.listeners contains listener FOO, but this is not contained in listeners or "
        "controller.listener.names",
    ),
    (
        {"controller.listener.names": "C"},
        "controller.listener.names must be empty when not running in KRaft mode: [C]",
    ),
    (
        {"inter.broker.protocol.version": "0.10.2", "log.message.format.version": "0.11.0"},
        "log.message.format.version 0.11.0 can only be used when inter.broker.protocol.version is set to version "
        "0.11.0 or higher",
    ),
    (
        {"queued.max.request.bytes": "5"},
        "queued.max.request.bytes must be larger or equal to socket.request.max.bytes",
    ),
    (
        {"max.connections.per.ip": "0"},
        "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set.",
    ),
    (
        {"max.connections.per.ip.overrides": "a b:5"},
        "max.connections.per.ip.overrides contains invalid addresses : a b",
    ),
    (
        {"connections.max.idle.ms": "50"},
        "connection.failed.authentication.delay.ms=100 should always be less than connections.max.idle.ms=50 to "
        "prevent failed authentication responses from timing out",
    ),
    (
        {
            "security.inter.broker.protocol": "SASL_PLAINTEXT",
            "listeners": "SASL_PLAINTEXT://:1",
            "sasl.enabled.mechanisms": "PLAIN",
        },
        "sasl.mechanism.inter.broker.protocol must be included in sasl.enabled.mechanisms when SASL is used for "
        "inter-broker communication",
    ),
    (
        {"principal.builder.class": "nope"},
        "Invalid value nope for configuration principal.builder.class: Class nope could not be found.",
    ),
]


@pytest.mark.parametrize(("properties", "sentence"), REFUSED, ids=[",".join(properties) for properties, _ in REFUSED])
def test_what_does_not_fit_stops_the_start_with_kafkas_sentence(properties: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigException) as refusal:
        from_properties(properties)
    assert str(refusal.value) == sentence


@pytest.mark.parametrize(
    "properties",
    [
        {"listeners": "PLAINTEXT://127.0.0.1:9092,SSL://[::1]:9092"},
        {"listeners": "PLAINTEXT://a:0,SSL://a:0"},
        {"listeners": "PLAINTEXT://a:1,SSL://b:2", "advertised.listeners": "PLAINTEXT://x:1,SSL://x:1"},
        {"listeners": "plaintext://a_b:1"},
        {"inter.broker.protocol.version": "2.0", "log.message.format.version": "2.8"},
        {"security.inter.broker.protocol": "SASL_PLAINTEXT", "listeners": "SASL_PLAINTEXT://:1"},
        {"remote.log.storage.system.enable": "true"},
        {"listener.name.foo.ssl.keystore.location": "x"},
        {"an.unknown.key": "x"},
        {"metric.reporters": "com.example.Reporter"},
    ],
)
def test_what_kafka_starts_with_is_taken(properties: dict[str, str]) -> None:
    from_properties(properties)


def test_zookeeper_connect_is_needed() -> None:
    with pytest.raises(ConfigException, match=r"Missing required configuration `zookeeper\.connect`"):
        KafkaConfig.from_properties({})


@pytest.mark.parametrize(
    "properties", [{"process.roles": "broker", "node.id": "1"}, {"zookeeper.metadata.migration.enable": "true"}]
)
def test_kraft_is_refused_with_a_sentence(properties: dict[str, str]) -> None:
    with pytest.raises(ConfigException, match="kafkapy runs in ZooKeeper mode only"):
        from_properties(properties)
