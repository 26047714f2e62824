"""The configs of the audit."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.server.security.audit.audit_config import AuditConfig, AuditLevel

LOGS = Path("logs")


def test_it_is_off_by_default_and_leaves_other_configs() -> None:
    properties = {"broker.id": "1", "kafkapy.audit.file": "x"}
    assert AuditConfig.take_from(properties, LOGS) is None
    assert properties == {"broker.id": "1"}


def test_defaults() -> None:
    config = AuditConfig.take_from({"kafkapy.audit.level": " Denied "}, LOGS)
    assert config == (AuditLevel.DENIED, LOGS / "kafka-audit.jsonl", "", 104_857_600, 10, 10_000, frozenset())


def test_all_of_them() -> None:
    properties = {
        "kafkapy.audit.level": "all",
        "kafkapy.audit.file": "/var/audit",
        "kafkapy.audit.file.max.bytes": "1000",
        "kafkapy.audit.file.max.count": "2",
        "kafkapy.audit.queue.max.records": "5",
        "kafkapy.audit.ignore.principals": "User:CN=broker,O=x; User:monitor;",
    }
    config = AuditConfig.take_from(properties, LOGS)
    ignored = frozenset({"User:CN=broker,O=x", "User:monitor"})
    assert config == (AuditLevel.ALL, Path("/var/audit"), "", 1000, 2, 5, ignored)
    assert not properties


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("level", "some", "kafkapy.audit.level: it must be one of off, denied, changes, all"),
        ("file.max.count", "0", "kafkapy.audit.file.max.count: a number of at least 1 is expected"),
        ("queue.max.records", "-1", "kafkapy.audit.queue.max.records: a number of at least 1 is expected"),
        ("topic", "a/b", "kafkapy.audit.topic"),
    ],
)
def test_a_wrong_value_is_named(name: str, value: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        AuditConfig.take_from({f"kafkapy.audit.{name}": value}, LOGS)


def test_a_file_and_a_topic_are_one_too_many() -> None:
    with pytest.raises(
        ValueError, match=r"Only one of the configurations kafkapy\.audit\.file and kafkapy\.audit\.topic"
    ):
        AuditConfig.take_from({"kafkapy.audit.file": "x", "kafkapy.audit.topic": "y"}, LOGS)
