"""What is in the registry's topic already: schemas that today's rules refuse, and records that make no sense."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kafkapy.registry.records import RegistryRecord, schema_record
from kafkapy.registry.state import RegistryState
from tests.registry.memory_registry import MemoryRegistry

OLD_AVRO = {"type": "record", "name": "R", "fields": [{"name": "n", "type": "int", "default": None}]}
NEW_AVRO = {"type": "record", "name": "R", "fields": [{"name": "n", "type": "int", "default": 0}]}
OLD_JSON = '{"type":"object","properties":{"a":{"type":"number","maximum":Infinity,"pattern":"("}}}'
NEW_JSON = '{"type":"object","properties":{"a":{"type":"number"}}}'
OLD_PROTO = 'syntax = "proto3";\nmessage M {\n  Gone gone = 2;\n  int32 a = 1;\n  E e = 3;\n  enum E { X = 1; }\n}\n'
NEW_PROTO = 'syntax = "proto3";\nmessage M {\n  int32 a = 1;\n}\n'


@pytest.fixture
def registry() -> MemoryRegistry:
    return MemoryRegistry()


def store(registry: MemoryRegistry, text: str, kind: str) -> None:
    value = {"subject": "old", "version": 1, "id": 1, "schema": text, "schemaType": kind, "deleted": False}
    registry.service.apply(schema_record("old", 1, value))


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("AVRO", json.dumps(OLD_AVRO), json.dumps(NEW_AVRO)),
        ("JSON", OLD_JSON, NEW_JSON),
        ("PROTOBUF", OLD_PROTO, NEW_PROTO),
    ],
)
def test_a_subject_goes_on(registry: MemoryRegistry, kind: str, old: str, new: str) -> None:
    store(registry, old, kind)
    check = {"schema": new, "schemaType": kind}
    assert registry.ask("POST", "/compatibility/subjects/old/versions/latest", check) == (200, {"is_compatible": True})
    assert registry.register("old", new, schemaType=kind) == 2
    assert registry.refused("POST", "/subjects/other/versions", {"schema": old, "schemaType": kind}) == 42201
    assert registry.ask("GET", "/schemas/ids/1")[1]["schema"] == old


@pytest.mark.parametrize(("kind", "old"), [("AVRO", json.dumps(OLD_AVRO)), ("PROTOBUF", OLD_PROTO)])
def test_it_is_found_and_may_be_registered_again(registry: MemoryRegistry, kind: str, old: str) -> None:
    store(registry, old, kind)
    assert registry.ask("POST", "/subjects/old", {"schema": old, "schemaType": kind})[1]["version"] == 1
    assert registry.register("old", old, schemaType=kind) == 1


def test_new_schemas_may_be_left_unvalidated(registry: MemoryRegistry) -> None:
    assert registry.ask("PUT", "/config/old", {"validateNewSchemas": False})[0] == 200
    assert registry.register("old", OLD_AVRO) == 1
    assert registry.refused("POST", "/subjects/old/versions", {"schema": '{"type": NaN}'}) == 42201


def test_imports_keep_their_defaults_but_are_json(registry: MemoryRegistry) -> None:
    registry.ask("PUT", "/mode", {"mode": "IMPORT"})
    assert registry.register("old", OLD_AVRO, id=7, version=1) == 7
    for text in ('{"type":"int","x":NaN}', '{"type":"int","x":"\\ud83d"}'):
        assert registry.refused("POST", "/subjects/new/versions", {"schema": text, "id": 8, "version": 1}) == 42201


@pytest.mark.parametrize(
    "value",
    [
        {"version": "1"},
        {"version": 2**31},
        {"version": 0},
        {"id": -1},
        {"id": 2**31},
        {"id": 1.5},
        {"id": True},
        {"schema": None},
        {"schema": "\ud83d"},
        {"references": [{"name": "a", "subject": "b", "version": 2**40}]},
        {"references": [{"name": "a"}]},
        {"references": 5},
    ],
)
def test_a_record_that_makes_no_sense_changes_nothing(value: dict[str, Any]) -> None:
    state = RegistryState()
    whole = {"subject": "s", "version": 1, "id": 1, "schema": '"int"', "deleted": False} | value
    with pytest.raises((ValueError, TypeError, KeyError, AttributeError)):
        state.apply(schema_record("s", 1, whole))
    assert state.versions("s", deleted=True) == []
    assert state.highest_ids == {}


@pytest.mark.parametrize("raw", [b"[" * 100_000, b"{", b"\xff", b"5", b""])
def test_what_is_no_record(raw: bytes) -> None:
    assert RegistryRecord.from_bytes(raw, raw) is None
