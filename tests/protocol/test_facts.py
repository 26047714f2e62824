"""Schemas, API versions and error codes agree with the reference data of Apache Kafka 3.9.1, where it is at hand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkapy.protocol import consumer_protocol, principal_data
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.message import Message
from kafkapy.protocol.records import consumer_group, group_metadata, offset_commit, transaction_log
from kafkapy.protocol.schema import NEW, Field, StructType, Versions

FACTS = Path(__file__).parents[2].parent / "shared" / "facts"

pytestmark = pytest.mark.skipif(not FACTS.is_dir(), reason="the reference data is not here")


def load(name: str) -> Any:
    return json.loads((FACTS / name).read_text())


def snake(name: str) -> str:
    """Kafka's "isKRaftController" is is_kraft_controller here."""
    name = name.replace("KRaft", "Kraft")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def messages() -> Iterator[tuple[str, type[Message]]]:
    """Name of the definition, and the class."""
    for api in ApiKey:
        for cls in (api.request, api.response):
            yield f"rpc/{cls.__name__}", cls
    for folder, modules in (
        ("records", (consumer_group, group_metadata, offset_commit, transaction_log)),
        ("other", (consumer_protocol, principal_data)),
    ):
        for module in modules:
            for cls in vars(module).values():
                if isinstance(cls, StructType) and issubclass(cls, Message) and cls is not Message:
                    yield f"{folder}/{cls.__name__}", cls


def test_every_definition_has_a_class() -> None:
    defined = {f"{path.parent.name}/{path.stem}" for path in (FACTS / "messages").glob("*/*.json")}
    elsewhere = {  # RequestHeader and ResponseHeader are in headers.py, the rest are not Kafka's definitions
        *("headers/RequestHeader", "headers/ResponseHeader", "records/ControlRecordType", "records/EndTxnMarker"),
        *("records/ProducerSnapshot", "records/README", "records/TxnIndexEntry"),
    }
    assert {name for name, _ in messages()} == defined - elsewhere


def test_messages_agree() -> None:
    for name, cls in messages():
        facts = load(f"messages/{name}.json")
        assert facts.get("apiKey", -1) == cls.API_KEY
        assert Versions.parse(facts["validVersions"]) == cls.VERSIONS, name
        assert Versions.parse(facts["flexibleVersions"]) == cls.FLEXIBLE_VERSIONS, name
        common = {struct["name"]: struct["fields"] for struct in facts.get("commonStructs", ())}
        check_struct(cls, facts["fields"], common)


def check_struct(cls: StructType, facts: list[dict[str, Any]], common: dict[str, list[dict[str, Any]]]) -> None:
    assert [field.name for field in cls.FIELDS] == [snake(fact["name"]) for fact in facts], cls
    for field, fact in zip(cls.FIELDS, facts, strict=True):
        check_field(cls, field, fact)
        if field.struct_name:
            check_struct(cls.struct_named(field.struct_name), fact.get("fields") or common[field.struct_name], common)


def check_field(cls: StructType, field: Field, fact: dict[str, Any]) -> None:
    where = f"{cls.__qualname__}.{field.name}"
    assert field.type == fact["type"], where
    assert field.versions == Versions.parse(fact["versions"]), where
    nullable = Versions.parse(fact.get("nullableVersions", "none"))
    for version in range(cls.ROOT.VERSIONS.highest + 1):  # type: ignore[attr-defined]  # a root is a message
        if field.versions.includes(version):
            assert field.nullable.includes(version) == nullable.includes(version), where
    assert field.tag == fact.get("tag"), where
    assert field.tag is None or fact["taggedVersions"] == fact["versions"], where
    assert field.ignorable == fact.get("ignorable", False), where
    assert field.default == default(field, fact), where


def default(field: Field, fact: dict[str, Any]) -> Any:
    """A tagged struct that is not there is None here, whatever Kafka's default is."""
    stated = fact.get("default", "")
    if stated in ("null", None) or field.type == "records":
        return None
    if field.type == field.struct_name and field.tag is not None:
        return None
    if field.element_type or field.struct_name:
        return NEW
    zero = {"bool": False, "string": "", "bytes": b"", "uuid": bytes(16), "float64": 0.0}.get(field.type, 0)
    if stated == "":
        return zero
    if field.type == "bool":
        return str(stated).lower() == "true"
    return stated if field.type == "string" else int(str(stated), 0)


def test_headers_agree() -> None:
    request = load("messages/headers/RequestHeader.json")
    assert [field["type"] for field in request["fields"]] == ["int16", "int16", "int32", "string"]
    assert request["fields"][3]["flexibleVersions"] == "none"
    assert [field["type"] for field in load("messages/headers/ResponseHeader.json")["fields"]] == ["int32"]


def test_api_versions_agree() -> None:
    facts = load("api-versions.json")["apis"]
    assert [api.title for api in ApiKey] == [fact["name"] for fact in facts]
    for api, fact in zip(ApiKey, facts, strict=True):
        assert (api, api.min_version, api.max_version) == (fact["key"], fact["min"], fact["max"])
        assert api.first_flexible == fact["firstFlexible"]
        assert api.cluster_action == fact["clusterAction"]


def test_errors_agree() -> None:
    facts = load("errors.json")
    assert [error.name for error in Errors] == [fact["name"] for fact in facts]
    for error, fact in zip(Errors, facts, strict=True):
        assert error.code == fact["code"]
        assert error.retriable == fact["retriable"]
        assert error.refresh_metadata == fact["refreshMetadata"]
        assert error.exception == (fact["exception"] or "")
