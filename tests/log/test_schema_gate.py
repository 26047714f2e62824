"""Records without a schema that the topic accepts are refused for their own sake."""

from __future__ import annotations

import struct

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.common.time import MockTime
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log import schema_configs
from kafkapy.log.log_config import LogConfig, check_topic_configs
from kafkapy.log.log_types import AppendOrigin, WouldBlock
from kafkapy.log.log_validator import LogValidator
from kafkapy.log.validation_result import RecordValidationError, ValidationResult
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.compression import CompressionType
from kafkapy.record.records_builder import MemoryRecordsBuilder
from kafkapy.server.registry_gate import REFUSED_MS, RegistryGate

NOW = 1_700_000_000_000
ON = {"kafkapy.value.schema.validation": "true"}
SUBJECTS = {1: ["bookings-value"], 2: ["shop.Paid-v1", "shop.Paid-v2"], 3: []}


def value(schema_id: int) -> bytes:
    return struct.pack(">bI", 0, schema_id) + b"payload"


class Registry:
    def __init__(self) -> None:
        self.asked: list[int] = []
        self.down = False

    def subjects_of(self, schema_id: int) -> list[str] | None:
        self.asked.append(schema_id)
        if self.down:
            raise OSError("nobody listens")
        return SUBJECTS.get(schema_id)


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry:
    found = Registry()
    monkeypatch.setattr(schema_configs, "_installed", [RegistryGate(found.subjects_of, MockTime())])
    return found


def validate(
    values: list[bytes | None],
    configs: dict[str, str],
    *,
    non_blocking: bool = False,
    codec: CompressionType = CompressionType.NONE,
    origin: AppendOrigin = AppendOrigin.CLIENT,
) -> ValidationResult:
    builder = MemoryRecordsBuilder(compression_type=codec)
    for each in values:
        builder.append(NOW, b"key", each)
    config = LogConfig.from_overrides(LogConfig({}), configs)
    validator = LogValidator(TopicPartition("bookings", 0), config)
    return validator.validate(bytearray(builder.build()), 0, NOW, 0, origin, non_blocking=non_blocking)


def refused(
    values: list[bytes | None], configs: dict[str, str], codec: CompressionType = CompressionType.NONE
) -> dict[int, str]:
    with pytest.raises(RecordValidationError) as found:
        validate(values, configs, codec=codec)
    assert found.value.error is Errors.INVALID_RECORD
    return dict(found.value.record_errors)


@pytest.mark.parametrize("codec", list(CompressionType))
def test_each_record_is_refused_for_its_own_sake(registry: Registry, codec: CompressionType) -> None:
    errors = refused([value(1), value(2), None, b"text", value(9), b"", value(3), value(1)], ON, codec)
    assert errors == {
        1: "Schema 2 is of subject shop.Paid-v1, shop.Paid-v2, and topic bookings accepts bookings-value",
        3: "The value names no schema, as topic bookings demands: it begins with 0x74657874",
        4: "The registry has no schema 9",
        5: "The value names no schema, as topic bookings demands: it begins with 0x",
        6: "Schema 3 is of subject none, and topic bookings accepts bookings-value",
    }
    assert sorted(registry.asked) == [1, 2, 3, 9], "each id once"


def test_what_is_accepted(registry: Registry) -> None:
    assert validate([value(1), None], ON).record_count == 2
    patterns = {**ON, "kafkapy.value.schema.subjects": "shop.Paid-v*, {topic}-value"}
    assert validate([value(1), value(2)], patterns).record_count == 2
    assert set(refused([value(1)], {**ON, "kafkapy.value.schema.subjects": "shop.Paid-v1"})) == {0}


def test_without_it_nothing_is_asked(registry: Registry) -> None:
    assert validate([b"text"], {}).record_count == 1
    assert validate([b"text"], {"kafkapy.value.schema.validation": "false"}).record_count == 1
    assert validate([b"text"], ON, origin=AppendOrigin.COORDINATOR).record_count == 1
    assert registry.asked == []


def test_the_thread_that_serves_everybody_does_not_wait(registry: Registry) -> None:
    with pytest.raises(WouldBlock):
        validate([value(1)], ON, non_blocking=True)
    assert registry.asked == []
    validate([value(1)], ON)
    assert validate([value(1)], ON, non_blocking=True).record_count == 1


def test_a_registry_that_is_down(registry: Registry) -> None:
    validate([value(1)], ON)
    registry.down = True
    assert validate([value(1)], ON).record_count == 1, "what is known goes on"
    with pytest.raises(KafkaError, match="does not answer, so the records cannot be checked: nobody listens") as found:
        validate([value(2)], ON)
    assert found.value.error is Errors.REQUEST_TIMED_OUT and found.value.error.retriable
    registry.down = False
    assert set(refused([value(2)], ON)) == {0}


def test_what_was_refused_may_be_published_later(monkeypatch: pytest.MonkeyPatch) -> None:
    registry, time = Registry(), MockTime()
    monkeypatch.setattr(schema_configs, "_installed", [RegistryGate(registry.subjects_of, time)])
    monkeypatch.setitem(SUBJECTS, 7, [])
    refused([value(7)], ON)
    monkeypatch.setitem(SUBJECTS, 7, ["bookings-value"])
    refused([value(7)], ON)
    assert registry.asked == [7]
    time.advance(REFUSED_MS)
    assert validate([value(7)], ON).record_count == 1


def test_configs(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    check_topic_configs({**ON, "kafkapy.value.schema.subjects": "a-*,b"})
    for wrong in ({"kafkapy.value.schema.validation": "yes"}, {"kafkapy.value.schema.subjects": "a b"}):
        with pytest.raises(ConfigException, match="Invalid value"):
            check_topic_configs(wrong)
    monkeypatch.setattr(schema_configs, "_installed", [])
    with pytest.raises(KafkaError, match=r"needs a schema registry: set kafkapy\.schema\.registry\.url"):
        check_topic_configs(ON)
    with pytest.raises(KafkaError, match=r"this broker has no kafkapy\.schema\.registry\.url"):
        validate([value(1)], ON)
