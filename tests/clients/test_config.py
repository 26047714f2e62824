from __future__ import annotations

import inspect
from typing import Any

import pytest

import kafkapy
import kafkapy.aio
import kafkapy.tx
from kafkapy.clients.broker_releases import LATEST_RELEASE, parse_release, release_of, versions_of_release
from kafkapy.clients.config import ClientConfig
from kafkapy.clients.facade import merge_options
from kafkapy.clients.option_table import OPTIONS, ClientOption, unrecognized
from kafkapy.consumer.config import ConsumerConfig
from kafkapy.errors import KafkaConfigurationError
from kafkapy.producer.config import ProducerConfig
from kafkapy.protocol.api_keys import ApiKey


@pytest.mark.parametrize(
    ("servers", "expected"),
    [
        ("localhost", ["localhost:9092"]),
        ("a:1,b", ["a:1", "b:9092"]),
        (["a:1, b:2", "c"], ["a:1", "b:2", "c:9092"]),
        ("[::1]", ["[::1]:9092"]),
        ("::1", ["[::1]:9092"]),
        ("[::1]:7", ["[::1]:7"]),
        ("PLAINTEXT://a:3", ["a:3"]),
    ],
)
def test_bootstrap_servers(servers: str | list[str], expected: list[str]) -> None:
    assert [str(address) for address in ClientConfig(bootstrap_servers=servers).bootstrap] == expected


def test_options_are_merged_and_unknown_ones_named() -> None:
    merged = merge_options(ClientConfig.defaults(), {"client_id": "me", "socks5_proxy": None, "metric_reporters": []})
    assert merged["client_id"] == "me"
    assert ClientConfig.from_options({**merged, "acks": 1}).client_id == "me"
    with pytest.raises(KafkaConfigurationError, match="Unrecognized configs: a, b"):
        merge_options(ClientConfig.defaults(), {"b": 1, "a": 2})
    with pytest.raises(KafkaConfigurationError, match="sasl_kerberos_name is not supported"):
        merge_options(ClientConfig.defaults(), {"sasl_kerberos_name": "x"})


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("bootstrap_server", "bootstrap_servers for bootstrap_server"),
        ("linger", "linger_ms for linger"),
        ("fetch.min.bytes", "fetch_min_bytes for fetch.min.bytes"),
        ("ssl.truststore.location", "ssl_cafile for ssl.truststore.location"),
    ],
)
def test_the_nearest_right_name_is_told(given: str, hint: str) -> None:
    assert unrecognized([given], OPTIONS) == f" (did you mean {hint}?)"
    assert unrecognized(["quite_another_thing"], OPTIONS) == ""


@pytest.mark.parametrize(("name", "option"), [(n, o) for n, o in OPTIONS.items() if o.least is not None])
def test_numbers_out_of_range_are_refused(name: str, option: ClientOption) -> None:
    configs: tuple[Any, ...] = (ClientConfig, ConsumerConfig, ProducerConfig)
    config = next(config for config in configs if name in config.defaults())
    assert option.least is not None
    for wrong in (option.least - 1, "5", True, float("nan")):
        with pytest.raises(
            KafkaConfigurationError, match=f"{name} must be a number.* at least {option.least:g}; it is"
        ):
            config(**{name: wrong})


@pytest.mark.parametrize(
    ("config", "wrong", "sentence"),
    [
        (ProducerConfig, {"acks": "1"}, "acks must be one of 0, 1, -1, all; it is '1' (did you mean 1?)"),
        (ProducerConfig, {"acks": 2}, "acks must be one of 0, 1, -1, all; it is 2"),
        (
            ProducerConfig,
            {"compression_type": "gz"},
            "compression_type must be one of gzip, snappy, lz4, zstd, none, None; it is 'gz' (did you mean 'gzip'?)",
        ),
        (
            ConsumerConfig,
            {"auto_offset_reset": "earlist"},
            "auto_offset_reset must be one of earliest, latest, none; it is 'earlist' (did you mean 'earliest'?)",
        ),
        (
            ConsumerConfig,
            {"isolation_level": "read_commited"},
            "isolation_level must be one of read_uncommitted, read_committed; it is 'read_commited'"
            " (did you mean 'read_committed'?)",
        ),
        (
            ClientConfig,
            {"security_protocol": "ssl"},
            "security_protocol must be one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL; it is 'ssl' (did you mean 'SSL'?)",
        ),
        (
            ClientConfig,
            {"security_protocol": "SASL_SSL", "sasl_mechanism": "SCRAM-SHA256"},
            "sasl_mechanism must be one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, GSSAPI; it is 'SCRAM-SHA256'"
            " (did you mean 'SCRAM-SHA-256'?)",
        ),
    ],
)
def test_a_wrong_word_is_refused_with_the_nearest_right_one(config: Any, wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(KafkaConfigurationError) as refused:
        config(**wrong)
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("config", "wrong", "sentence"),
    [
        (ConsumerConfig, {"enable_auto_commit": "false"}, "enable_auto_commit must be True or False; it is 'false'"),
        (ProducerConfig, {"enable_idempotence": None}, "enable_idempotence must be True or False; it is None"),
        (ConsumerConfig, {"group_id": 5}, "group_id must be a string; it is 5"),
        (ConsumerConfig, {"client_rack": None}, "client_rack must be a string; it is None"),
        (ProducerConfig, {"transactional_id": 7}, "transactional_id must be a string; it is 7"),
        (ClientConfig, {"client_id": b"me"}, "client_id must be a string; it is b'me'"),
        (ClientConfig, {"socket_options": 5}, "socket_options must be tuples (level, option, value); it is 5"),
        (ClientConfig, {"bootstrap_servers": 9092}, "bootstrap_servers must be strings as host:port; it is 9092"),
        (
            ClientConfig,
            {"bootstrap_servers": [("a", 9092)]},
            "bootstrap_servers must be strings as host:port; it is [('a'",
        ),
        (
            ConsumerConfig,
            {"consumer_timeout_ms": "5"},
            "consumer_timeout_ms must be a number of milliseconds, at least -1",
        ),
        (
            ConsumerConfig,
            {"key_deserializer": "utf-8"},
            "key_deserializer must be a Deserializer, or a function of the bytes; it is 'utf-8'",
        ),
        (
            ProducerConfig,
            {"value_serializer": "utf-8"},
            "value_serializer must be a Serializer, or a function that gives bytes; it is 'utf-8'",
        ),
        (
            ConsumerConfig,
            {"default_offset_commit_callback": 5},
            "default_offset_commit_callback must be a function; it is 5",
        ),
        (
            ConsumerConfig,
            {"partition_assignment_strategy": "range"},
            "partition_assignment_strategy must be a list of classes of kafkapy.coordinator.assignors",
        ),
        (
            ConsumerConfig,
            {"partition_assignment_strategy": ["org.example.Mine"]},
            "there is no assignor org.example.Mine; there are org.apache.kafka.clients.consumer.RangeAssignor, ",
        ),
    ],
)
def test_what_is_of_a_wrong_type_is_refused(config: Any, wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(KafkaConfigurationError) as refused:
        config(**wrong)
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("word", "strategy"), [("smallest", "earliest"), ("largest", "latest"), ("EARLIEST", "earliest"), ("None", "none")]
)
def test_where_to_begin_as_kafka_python_takes_it(word: str, strategy: str) -> None:
    assert ConsumerConfig(auto_offset_reset=word).auto_offset_reset == strategy


@pytest.mark.parametrize("level", ["read_committed", "READ_COMMITTED", kafkapy.IsolationLevel.READ_COMMITTED])
def test_isolation_level_as_kafka_python_takes_it(level: Any) -> None:
    assert ConsumerConfig(isolation_level=level).read_committed
    assert not ConsumerConfig().read_committed


@pytest.mark.parametrize("package", [kafkapy, kafkapy.aio, kafkapy.tx])
@pytest.mark.parametrize("name", ["KafkaConsumer", "KafkaProducer", "KafkaAdminClient"])
def test_help_shows_options_and_defaults(package: Any, name: str) -> None:
    defaults = getattr(kafkapy, name).DEFAULT_CONFIG
    shown = inspect.signature(getattr(package, name)).parameters
    assert {name: shown[name].default for name in defaults} == defaults


def test_help_shows_what_else_a_face_takes() -> None:
    assert inspect.signature(kafkapy.aio.KafkaConsumer).parameters["rebalance_timeout_ms"].default is None
    assert inspect.signature(kafkapy.aio.KafkaProducer).parameters["max_batch_size"].default == 16_384
    assert inspect.signature(kafkapy.tx.KafkaConsumer).parameters["reactor"].default is None


def test_releases() -> None:
    assert parse_release("2.5") == parse_release((2, 5)) == (2, 5)
    for release in ((0, 9), (0, 10, 2), (1, 0), (2, 5), (3, 0), (3, 9), LATEST_RELEASE):
        assert release_of(versions_of_release(release)) == release
    assert versions_of_release((2, 5, 1)).ranges == versions_of_release((2, 5)).ranges
    assert versions_of_release((9, 0)).ranges == versions_of_release(LATEST_RELEASE).ranges
    old = versions_of_release((0, 9))
    assert old.latest_usable(ApiKey.PRODUCE) == 1
    assert not old.supports(ApiKey.API_VERSIONS)


def test_figures_of_a_release_match_what_kafka_python_knows() -> None:
    from kafka.protocol.broker_version_data import BROKER_API_VERSIONS

    for release, theirs in BROKER_API_VERSIONS.items():
        ours = versions_of_release(release).ranges
        assert {key: tuple(theirs[key]) for key in ours} == ours


def test_values_of_the_wrong_kind_get_a_sentence() -> None:
    with pytest.raises(KafkaConfigurationError, match="group_id must be a string; it is 5"):
        ConsumerConfig(group_id=5)  # type: ignore[arg-type]
    with pytest.raises(
        KafkaConfigurationError, match=r'deserialization_policy must be "raise", "skip" or .* is \'ignore\''
    ):
        ConsumerConfig(deserialization_policy="ignore")
    with pytest.raises(KafkaConfigurationError, match=r"partitioner must be a Partitioner.*'murmur'"):
        ProducerConfig(partitioner="murmur")
