from __future__ import annotations

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.log.log_config import LogConfig, check_topic_configs
from kafkapy.protocol.errors import Errors, KafkaError

DEFAULTS = LogConfig({})


def test_defaults_are_kafkas() -> None:
    assert DEFAULTS.segment_bytes == 1 << 30
    assert DEFAULTS.retention_ms == 7 * 24 * 3600 * 1000
    assert DEFAULTS.cleanup_policy == ["delete"]
    assert (DEFAULTS.compact, DEFAULTS.delete) == (False, True)
    assert DEFAULTS.max_message_bytes == 1048588
    assert DEFAULTS.compression_type == "producer"
    assert DEFAULTS.leader_replication_throttled_replicas == []
    assert len(DEFAULTS.values()) == 36


def test_overrides_go_over_the_brokers_values() -> None:
    broker = LogConfig({"retention.ms": 5, "segment.bytes": 100})
    config = LogConfig.from_overrides(broker, {"cleanup.policy": "compact, delete", "segment.bytes": "200"})
    assert (config.compact, config.delete) == (True, True)
    assert (config.retention_ms, config.segment_bytes) == (5, 200)
    assert config.overridden == {"cleanup.policy", "segment.bytes"}


def test_a_topic_without_configs_shares_the_brokers() -> None:
    assert LogConfig.from_overrides(DEFAULTS, {}) is DEFAULTS
    assert LogConfig.from_overrides(DEFAULTS, {"from.a.newer.broker": "1"}) is DEFAULTS


def test_overrides_may_be_typed_and_must_be_valid() -> None:
    assert LogConfig.from_overrides(DEFAULTS, {"retention.ms": 7}).retention_ms == 7
    with pytest.raises(ConfigException):
        LogConfig.from_overrides(DEFAULTS, {"retention.ms": "-2"})


def test_it_has_no_room_for_other_attributes() -> None:
    with pytest.raises(AttributeError):
        DEFAULTS.retention = 5  # type: ignore[attr-defined]


def test_a_compacted_log_rolls_in_time_to_be_cleaned() -> None:
    lag = {"max.compaction.lag.ms": "1000", "segment.ms": "5000"}
    assert LogConfig.from_overrides(DEFAULTS, lag).max_segment_ms == 5000
    assert LogConfig.from_overrides(DEFAULTS, {**lag, "cleanup.policy": "compact"}).max_segment_ms == 1000


def test_jitter_stays_below_its_bounds() -> None:
    assert DEFAULTS.random_segment_jitter() == 0
    config = LogConfig.from_overrides(DEFAULTS, {"segment.jitter.ms": "1000", "segment.ms": "10"})
    assert all(0 <= config.random_segment_jitter() < 10 for _ in range(50))


def test_files_are_made_with_their_full_size_only_when_preallocated() -> None:
    assert DEFAULTS.init_file_size == 0
    assert LogConfig.from_overrides(DEFAULTS, {"preallocate": "true"}).init_file_size == 1 << 30


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        ({"retention.ms": "abc"}, "Invalid value abc for configuration retention.ms: Not a number of type LONG"),
        ({"retention.ms": "-2"}, "Invalid value -2 for configuration retention.ms: Value must be at least -1"),
        ({"retention.ms": ""}, "Invalid value  for configuration retention.ms: Not a number of type LONG"),
        ({"segment.bytes": "13"}, "Invalid value 13 for configuration segment.bytes: Value must be at least 14"),
        (
            {"cleanup.policy": "foo"},
            "Invalid value foo for configuration cleanup.policy: String must be one of: compact, delete",
        ),
        (
            {"compression.type": "rar"},
            "Invalid value rar for configuration compression.type: "
            "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer",
        ),
        ({"nope": "1"}, "Unknown topic config name: nope"),
        (
            {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"},
            "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)",
        ),
        (
            {"remote.log.copy.disable": "true"},
            "It is invalid to set `remote.log.delete.on.disable` or `remote.log.copy.disable` under Zookeeper's mode.",
        ),
        (
            {"remote.storage.enable": "true"},
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage.",
        ),
    ],
)
def test_what_a_topic_cannot_have_is_refused_with_kafkas_sentence(overrides: dict[str, str], sentence: str) -> None:
    with pytest.raises((KafkaError, ConfigException)) as refusal:
        check_topic_configs(overrides)
    told = refusal.value.message if isinstance(refusal.value, KafkaError) else str(refusal.value)
    assert told == sentence
    assert getattr(refusal.value, "error", Errors.INVALID_CONFIG) is Errors.INVALID_CONFIG


def test_the_brokers_values_count_when_configs_are_checked_together() -> None:
    broker = LogConfig({"max.compaction.lag.ms": 5})
    check_topic_configs({"min.compaction.lag.ms": "10"})
    with pytest.raises(KafkaError):
        check_topic_configs({"min.compaction.lag.ms": "10"}, broker)


@pytest.mark.parametrize(
    "overrides", [{}, {"cleanup.policy": ""}, {"segment.bytes": " 2000000 "}, {"message.format.version": "0.10.2"}]
)
def test_what_kafka_takes_is_taken(overrides: dict[str, str]) -> None:
    check_topic_configs(overrides)
