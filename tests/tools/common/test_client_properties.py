"""Java client configs: all are known, with Kafka's types and defaults, and each acts, warns or is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.clients.java_properties import Property
from kafkapy.clients.java_security import jaas_options
from kafkapy.common.config_def import (
    parse_type,
)
from kafkapy.common.wire_enums import ConfigType
from kafkapy.consumer.assignors import CooperativeStickyAssignor, RangePartitionAssignor
from kafkapy.consumer.config import ConsumerConfig
from kafkapy.errors import KafkaConfigurationError
from kafkapy.producer.config import ProducerConfig
from kafkapy.tools.common import client_partitioners
from kafkapy.tools.common.client_properties import (
    CONSUMER,
    PRODUCER,
    arguments_of,
    consumer_arguments,
    key_values,
    merge_option,
    producer_arguments,
)
from kafkapy.tools.common.command_line import ToolError

CONFIGS = Path(__file__).parents[1] / "data" / "java-client-configs.txt"
OURS_ALONE = {"config.providers"}
ASSIGNORS = "org.apache.kafka.clients.consumer."


def java_configs(kind: str) -> dict[str, tuple[str, str]]:
    """Name -> type and default."""
    section = CONFIGS.read_text().split(f"# {kind}\n")[1].split("# ")[0]
    rows = [line.split(" | ") for line in section.splitlines()]
    return {row[0].strip(): (row[1], row[2] if len(row) > 2 else "") for row in rows}


@pytest.mark.parametrize(("kind", "table"), [("producer", PRODUCER), ("consumer", CONSUMER)])
class TestTable:
    def test_has_exactly_the_configs_of_the_java_client(self, kind: str, table: dict[str, Property]) -> None:
        assert table.keys() - OURS_ALONE == java_configs(kind).keys()

    def test_has_its_types_and_defaults(self, kind: str, table: dict[str, Property]) -> None:
        for name, (type_name, text) in java_configs(kind).items():
            known = table[name]
            assert known.type is ConfigType[type_name], name
            if text == "REQUIRED" or name == "receive.buffer.bytes":
                continue
            default = None if text == "null" else parse_type(name, text.replace(ASSIGNORS, ""), known.type)
            assert known.default == default, name

    def test_defaults_draw_no_warning(self, kind: str, table: dict[str, Property]) -> None:
        given = {name: text for name, (_, text) in java_configs(kind).items() if text not in ("null", "REQUIRED", "")}
        given = {name: text for name, text in given.items() if not name.startswith(("ssl.", "sasl."))}
        assert arguments_of(table, given)[1] == []


def test_arguments_of_a_producer_are_what_it_takes() -> None:
    given = {name: text for name, (_, text) in java_configs("producer").items() if PRODUCER[name].argument}
    given |= {
        "bootstrap.servers": "a:1,b:2",
        "client.id": "c",
        "acks": "1",
        "enable.idempotence": "false",
        "linger.ms": "5",
    }
    arguments = producer_arguments({name: text for name, text in given.items() if text != "null"})
    config = ProducerConfig.from_options(arguments)
    assert (config.acks, config.linger_ms, config.compression_type, config.client_id) == (1, 5, None, "c")
    assert (config.bootstrap_timeout_ms, config.max_block_ms) == (15_000, 60_000)


def test_arguments_of_a_consumer_are_what_it_takes() -> None:
    given = {name: text for name, (_, text) in java_configs("consumer").items() if CONSUMER[name].argument}
    given |= {"bootstrap.servers": "a:1", "group.id": "g", "isolation.level": "read_committed", "check.crcs": "false"}
    config = ConsumerConfig(**consumer_arguments({name: text for name, text in given.items() if text != "null"}))
    assert (config.group_id, config.read_committed, config.check_crcs) == ("g", True, False)


def test_assignors_are_the_java_clients() -> None:
    assert consumer_arguments({})["partition_assignment_strategy"] == [
        RangePartitionAssignor,
        CooperativeStickyAssignor,
    ]


@pytest.mark.parametrize(
    ("name", "value", "warning"),
    [
        ("no.such.config", "1", "The config no.such.config is not known to Kafka's clients and has no effect"),
        (
            "metrics.recording.level",
            "DEBUG",
            "The config metrics.recording.level has no effect here: all metrics are recorded",
        ),
        (
            "ssl.truststore.location",
            "x",
            "The config ssl.truststore.location has no effect with security.protocol=PLAINTEXT",
        ),
    ],
)
def test_what_has_no_effect_is_named(name: str, value: str, warning: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert producer_arguments({name: value}) == {"bootstrap_timeout_ms": 15_000}
    assert capsys.readouterr().err == f"WARNING: {warning}\n"


@pytest.mark.parametrize(
    ("properties", "sentence"),
    [
        ({"linger.ms": "-1"}, "Invalid value -1 for configuration linger.ms: Value must be at least 0"),
        ({"metric.reporters": "a.B"}, "metric.reporters=a.B is not supported: it names a Java class"),
        ({"security.protocol": "TLS"}, "Invalid value TLS for configuration security.protocol"),
        ({"partitioner.class": "a.B"}, "Invalid value a.B for configuration partitioner.class: known here are"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "NTLM"}, "sasl.mechanism=NTLM is not supported"),
        (
            {"security.protocol": "SSL", "ssl.truststore.location": "a.jks"},
            "Failed to load SSL keystore a.jks of type JKS: No such file or directory",
        ),
        (
            {"security.protocol": "SSL", "ssl.keystore.key": "PEM"},
            "SSL private key can be specified only for PEM, but key store type is JKS.",
        ),
        (
            {"security.protocol": "SSL", "ssl.enabled.protocols": "TLSv1"},
            "Invalid value [TLSv1] for configuration ssl.enabled.protocols: these are insecure and stay off",
        ),
    ],
)
def test_what_cannot_be_done_is_refused(properties: dict[str, str], sentence: str) -> None:
    with pytest.raises(ToolError) as raised:
        producer_arguments(properties)
    assert str(raised.value).startswith(sentence)


def test_tls_and_sasl() -> None:
    arguments, warnings = arguments_of(
        PRODUCER,
        {
            "security.protocol": "sasl_ssl",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": "ca.pem",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": "me.pem",
            "ssl.key.password": "k",
            "ssl.endpoint.identification.algorithm": "",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": 'org.apache.kafka.common.security.scram.ScramLoginModule required username="u" password="p\\"w";',
        },
    )
    assert not warnings
    assert arguments == {
        "security_protocol": "SASL_SSL",
        "ssl_check_hostname": False,
        "ssl_cafile": "ca.pem",
        "ssl_certfile": "me.pem",
        "ssl_password": "k",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "u",
        "sasl_plain_password": 'p"w',
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "PlainLoginModule",
        "com.sun.security.auth.module.Krb5LoginModule required username=u password=p;",
        "org.apache.kafka.common.security.plain.PlainLoginModule required username=u;",
    ],
)
def test_wrong_jaas_configs(text: str) -> None:
    with pytest.raises(KafkaConfigurationError, match=r"sasl\.jaas\.config"):
        jaas_options(text)


class Cluster:
    def topics(self) -> set[str]:
        return {"t"}

    def partitions_for_topic(self, topic: str) -> set[int]:
        return {0, 1, 2}

    def available_partitions_for_topic(self, topic: str) -> set[int]:
        return {0, 2}


def test_partitioners() -> None:
    around = producer_arguments({"partitioner.class": "org.apache.kafka.clients.producer.RoundRobinPartitioner"})
    chosen = [around["partitioner"].partition("t", "k", b"k", "v", b"v", Cluster()) for _ in range(4)]
    assert sorted(chosen[:2]) == [0, 2]
    assert chosen[2:] == chosen[:2]
    ignoring = producer_arguments({"partitioner.ignore.keys": "true"})["partitioner"]
    assert isinstance(ignoring, client_partitioners.UniformStickyPartitioner)
    assert len({ignoring.partition("t", "k", b"%d" % i, "v", b"v", Cluster()) for i in range(20)}) == 1


def test_key_values() -> None:
    assert key_values(["a=b=c", "d=", "e", "a=f"]) == {"a": "f", "d": "", "e": ""}


@pytest.mark.parametrize(("given", "expected"), [(True, "5"), (False, "1")])
def test_an_option_that_was_given_beats_a_property(given: bool, expected: str) -> None:
    properties = {"linger.ms": "1"}
    merge_option(properties, "linger.ms", 5, given)
    merge_option(properties, "acks", "all", False)
    assert properties == {"linger.ms": expected, "acks": "all"}
