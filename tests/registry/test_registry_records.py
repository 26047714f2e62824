"""The bytes of the records. Compaction compares keys as bytes, so they must be those that Confluent's registry writes: the order
of fields is that of its key classes' `JsonPropertyOrder` (SchemaKey, ConfigKey, ModeKey, DeleteSubjectKey, ClearSubjectKey,
ContextKey, NoopKey), fields without a value are left out, `magic` is 1 for schemas and 0 otherwise, and text is plain UTF-8."""

from __future__ import annotations

import pytest

from kafkapy.registry import records
from kafkapy.registry.records import RegistryRecord

KEYS = [
    (records.schema_record("orders/ü", 2, None), '{"keytype":"SCHEMA","subject":"orders/ü","version":2,"magic":1}'),
    (records.config_record("s", None), '{"keytype":"CONFIG","subject":"s","magic":0}'),
    (records.config_record(None, None), '{"keytype":"CONFIG","magic":0}'),
    (records.mode_record(":.team:", None), '{"keytype":"MODE","subject":":.team:","magic":0}'),
    (records.delete_subject_record("s", 3), '{"keytype":"DELETE_SUBJECT","subject":"s","magic":0}'),
    (records.clear_subject_record("s"), '{"keytype":"CLEAR_SUBJECT","subject":"s","magic":0}'),
    (records.context_record(".team"), '{"keytype":"CONTEXT","tenant":"default","context":".team","magic":0}'),
    (records.noop_record(), '{"keytype":"NOOP","magic":0}'),
]


@pytest.mark.parametrize(("record", "expected"), KEYS, ids=lambda value: getattr(value, "kind", ""))
def test_keys(record: RegistryRecord, expected: str) -> None:
    assert record.to_bytes()[0].decode() == expected


def test_values() -> None:
    assert records.delete_subject_record("s", 3).to_bytes()[1] == b'{"subject":"s","version":3}'
    assert records.config_record("s", {"compatibilityLevel": "FULL"}).to_bytes()[1] == (
        b'{"subject":"s","compatibilityLevel":"FULL"}'
    )
    assert records.mode_record(None, "IMPORT").to_bytes()[1] == b'{"mode":"IMPORT"}'
