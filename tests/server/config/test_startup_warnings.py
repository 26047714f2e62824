from __future__ import annotations

import logging

import pytest

from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.config.startup_warnings import (
    _OF_FORMER_VERSIONS,
    NOT_ACTED_ON,
    log_config,
    misspelt,
    not_acted_on,
    unknown_names,
    warn_of_open_files_limit,
)


def from_properties(properties: dict[str, str]) -> KafkaConfig:
    return KafkaConfig.from_properties({"zookeeper.connect": "z:1", **properties})


def test_every_name_without_effect_is_a_config() -> None:
    assert set(KafkaConfig.definition) > NOT_ACTED_ON


def test_only_what_differs_from_its_default_is_named() -> None:
    config = from_properties(
        {
            "queued.max.requests": "500",
            "socket.connection.setup.timeout.max.ms": " 5 ",
            "log.segment.bytes": "1000",
        }
    )
    assert not_acted_on(config) == {"socket.connection.setup.timeout.max.ms": "5"}


def test_unknown_names_are_found_behind_listeners_too() -> None:
    assert unknown_names(["b.unknown", "a.unknown", "listener.name.x.ssl.protocol"]) == ["a.unknown", "b.unknown"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("log.retention.hour", "log.retention.hours"),
        ("log_retention_hours", "log.retention.hours"),
        ("logRetentionHours", "log.retention.hours"),
        ("zookeper.connect", "zookeeper.connect"),
        ("brokerid", "broker.id"),
        ("retention.ms", "log.retention.ms"),
        ("max.message.bytes", "message.max.bytes"),
        ("port", "listeners"),
        ("advertised.host.name", "advertised.listeners"),
        ("kafkapy.metrics.listner", "kafkapy.metrics.listener"),
        ("listener.name.internal.max.conections", "listener.name.internal.max.connections"),
    ],
)
def test_what_a_misspelt_name_was_meant_to_be(name: str, meant: str) -> None:
    assert misspelt([name, "log.dirs"], ["kafkapy.metrics.listener"]) == [f"{name} is unknown; did you mean {meant}?"]


@pytest.mark.parametrize("name", ["foo", "acks", "group.id", "bootstrap.servers", "my.own.thing", "x" * 10_000])
def test_what_is_like_no_config_has_no_suggestion(name: str) -> None:
    assert misspelt([name]) == []


def test_all_that_is_suggested_for_former_names_is_a_config() -> None:
    assert set(_OF_FORMER_VERSIONS.values()) <= set(KafkaConfig.definition)
    assert not set(_OF_FORMER_VERSIONS) & set(KafkaConfig.definition)


def test_each_kind_has_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    properties = {
        "a.unknown": "1",
        "log.retention.hour": "secret",
        "queued.max.requests": "5",
        "sasl.kerberos.kinit.cmd": "a",
        "offsets.commit.required.acks": "-1",
        "log.message.format.version": "0.10.2",
    }
    with caplog.at_level(logging.INFO):
        log_config(from_properties(properties))
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings[0] == "These configurations '[a.unknown, log.retention.hour]' were supplied but are not used yet."
    assert warnings[1] == "log.retention.hour is unknown; did you mean log.retention.hours?"
    assert warnings[2].endswith("does not act on them yet: queued.max.requests=5")
    assert (
        "configurations of security are known, but kafkapy does not act on them yet: sasl.kerberos.kinit.cmd=a"
        in warnings[3]
    )
    assert "offsets.commit.required.acks is deprecated" in warnings[4]
    assert "log.message.format.version with value 0.10.2 is ignored" in warnings[5]
    assert len(warnings) == 6
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    "versions",
    [
        {"log.message.format.version": "2.0"},
        {"log.message.format.version": "0.10.2", "inter.broker.protocol.version": "0.10.2"},
    ],
)
def test_a_message_format_that_holds_or_makes_no_difference_has_none(
    versions: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        log_config(from_properties(versions))
    assert caplog.records == []


def test_a_plain_config_has_none(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        log_config(from_properties({}))
    assert caplog.records == []


@pytest.mark.parametrize(("limit", "warns"), [(1099, True), (1100, False), (1048576, False)])
def test_a_low_limit_of_open_files_is_told_with_what_is_needed(
    limit: int, warns: bool, caplog: pytest.LogCaptureFixture
) -> None:
    warn_of_open_files_limit(30, 100, limit)
    assert ("30 partitions with 100 segments here can need 1100" in caplog.text) is warns
