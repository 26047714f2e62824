"""Versions of schemas, of all four kinds: what a change is, and what may be claimed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("thriftpy2")
pytest.importorskip("grpc_tools")

from kafkapy.bus.codecs.thrift import read_struct, write_struct
from kafkapy.bus.schema_version import ChangeKind, SchemaVersion
from kafkapy.bus.schemas.changes import classify, compare_schemas, next_version, wrong_claims
from kafkapy.bus.schemas.model import field_lines
from kafkapy.bus.schemas.repository import RepositoryError, SchemaFile, load, package_version
from kafkapy.registry.formats.thrift_idl import structs_of
from tests.bus.events import avro

ID = {"name": "id", "type": "string"}
COUNT = {"name": "count", "type": "int"}
CITY = {"name": "city", "type": "string", "default": "-"}
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
NO_DEFAULT = {"name": "city", "type": "string"}


def proto(*fields: str) -> str:
    return 'syntax = "proto3"; package shop; message Sold { ' + " ".join(fields) + " }"


def json_schema(properties: dict[str, object], *required: str, closed: bool = True) -> str:
    schema = {"title": "shop.Sold", "type": "object", "properties": properties, "required": list(required)}
    return json.dumps({**schema, **({"additionalProperties": False} if closed else {})})


def thrift(*fields: str) -> str:
    return "enum Means { FOOT = 1 }\nstruct Sold { " + ", ".join(fields) + " }"


CHANGES = [
    ("AVRO", avro("shop.Sold", ID), avro("shop.Sold", ID), ChangeKind.NONE),
    ("AVRO", avro("shop.Sold", ID), avro("shop.Sold", ID, CITY), ChangeKind.ADDITION),
    ("AVRO", avro("shop.Sold", ID, COUNT), avro("shop.Sold", ID), ChangeKind.REVISION),
    ("AVRO", avro("shop.Sold", COUNT), avro("shop.Sold", {"name": "count", "type": "long"}), ChangeKind.REVISION),
    ("AVRO", avro("shop.Sold", ID), avro("shop.Sold", ID, NO_DEFAULT), ChangeKind.MODEL),
    ("AVRO", avro("shop.Sold", ID), avro("shop.Sold", {"name": "id", "type": "int"}), ChangeKind.MODEL),
    ("PROTOBUF", proto("string id = 1;"), proto("string id = 1; int32 count = 2;"), ChangeKind.ADDITION),
    ("PROTOBUF", proto("string id = 1;"), proto("int32 id = 1;"), ChangeKind.MODEL),
    ("JSON", json_schema({"id": TEXT}), json_schema({"id": TEXT, "n": NUMBER}), ChangeKind.REVISION),
    ("JSON", json_schema({"id": TEXT}), json_schema({"id": NUMBER}), ChangeKind.MODEL),
    ("THRIFT", thrift("1: required string id"), thrift("1: required string id", "2: optional i32 n"), ChangeKind.ADDITION),
    ("THRIFT", thrift("1: required string id"), thrift("1: optional string id"), ChangeKind.REVISION),
    ("THRIFT", thrift("1: required string id"), thrift("1: required string id", "2: required i32 n"), ChangeKind.MODEL),
    ("THRIFT", thrift("1: required i32 id"), thrift("1: required i64 id"), ChangeKind.MODEL),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "old", "new", "expected"), CHANGES, ids=lambda value: getattr(value, "name", None))
def test_what_a_change_is(kind: str, old: str, new: str, expected: ChangeKind) -> None:
    file = SchemaFile(Path("1.4.2.x"), SchemaVersion(1, 4, 2), old)
    change = classify(kind, [file], new)
    assert change.kind is expected
    assert change.version == SchemaVersion(1, 4, 2).next(expected)
    if expected is not ChangeKind.NONE:
        assert change.fields, "it says which fields"
    if expected is ChangeKind.MODEL:
        assert "it cannot read 1.4.2" in change.reasons[0]
    if expected is ChangeKind.REVISION:
        assert "1.4.2 cannot read it" in change.reasons[0]


def test_all_versions_of_the_model_count() -> None:
    """A field that went with a REVISION must not come back with another type."""
    first = SchemaFile(Path("a"), SchemaVersion(1, 0, 0), avro("shop.Sold", ID, COUNT))
    second = SchemaFile(Path("b"), SchemaVersion(1, 1, 0), avro("shop.Sold", ID))
    again = avro("shop.Sold", ID, {"name": "count", "type": "string", "default": ""})
    assert classify("AVRO", [second], again).kind is ChangeKind.ADDITION
    change = classify("AVRO", [first, second], again)
    assert (change.kind, str(change.version)) == (ChangeKind.MODEL, "2.0.0")
    assert "cannot read 1.0.0" in change.reasons[0]


def test_what_holds_for_several_versions_is_said_once() -> None:
    texts = [
        avro("shop.Sold", ID, *({"name": f"n{n}", "type": "int", "default": 0} for n in range(k))) for k in range(3)
    ]
    earlier = [SchemaFile(Path("a"), SchemaVersion(1, 0, number), text) for number, text in enumerate(texts)]
    change = classify("AVRO", earlier, avro("shop.Sold", NO_DEFAULT))
    (reason,) = (each for each in change.reasons if NO_DEFAULT["name"] in each)
    assert reason.startswith("it cannot read 1.0.0, 1.0.1 and 1.0.2: ")


TYPES = [
    (
        "AVRO",
        avro(
            "shop.Sold",
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "tags", "type": ["null", {"type": "array", "items": "float"}], "default": None},
            {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A"]}, "default": "A"},
            {"name": "counts", "type": {"type": "map", "values": "long"}},
        ),
        {
            "at": "long (timestamp-millis)",
            "tags": "null | array of float = null",
            "kind": 'Kind = "A"',
            "counts": "map of long",
            "Kind": "enum A",
        },
    ),
    (
        "JSON",
        json_schema(
            {"id": TEXT, "at": {"type": "string", "format": "date-time"}, "n": {"type": ["integer", "null"]}}, "id"
        ),
        {"id": "string", "at": "string (date-time), optional", "n": "integer | null, optional"},
    ),
    (
        "PROTOBUF",
        proto("int64 id = 1; repeated sint32 ns = 2; map<string, double> m = 3; optional bool b = 4;"),
        {"id": "int64", "ns": "repeated sint32", "m": "map<string, double>", "b": "optional bool"},
    ),
    (
        "THRIFT",
        thrift("1: required i64 id", "2: optional list<i16> ns", "3: map<string, bool> m"),
        {"id": "required i64", "ns": "optional list<i16>", "m": "optional map<string, bool>", "Means": "enum FOOT"},
    ),
]


@pytest.mark.parametrize(("kind", "text", "lines"), TYPES, ids=[each[0] for each in TYPES])
def test_fields_are_told_in_the_schemas_language(kind: str, text: str, lines: dict[str, str]) -> None:
    assert field_lines(kind, text) == lines


def repository(directory: Path, **files: str) -> Path:
    event = directory / "shop.Sold"
    event.mkdir(parents=True)
    for name, text in files.items():
        (event / f"{name.strip('v').replace('_', '.')}.avsc").write_text(text)
    return directory


def test_a_version_that_claims_less_is_refused(tmp_path: Path) -> None:
    directory = repository(tmp_path, v1_0_0=avro("shop.Sold", ID), v1_0_1=avro("shop.Sold", ID, NO_DEFAULT))
    (sentence,) = wrong_claims(load(directory)["shop.Sold"])
    assert sentence.startswith("shop.Sold 1.0.1 says that it is an ADDITION to 1.0.0, but it is a MODEL: ")
    assert sentence.endswith("It must be 2.0.0 or above")


def test_a_version_may_claim_more(tmp_path: Path) -> None:
    directory = repository(tmp_path, v1_0_0=avro("shop.Sold", ID), v2_0_0=avro("shop.Sold", ID, CITY))
    assert wrong_claims(load(directory)["shop.Sold"]) == []


def test_a_package_is_newer_with_each_version(tmp_path: Path) -> None:
    """pip leaves an installed package alone if the other is called the same."""
    text = avro("shop.Sold", ID)
    made = {}
    found = []
    for name in ("v1_0_0", "v1_0_1", "v1_1_0", "v1_1_1", "v2_0_0", "v3_0_0"):
        made[name] = text
        found.append(package_version(load(repository(tmp_path / name, **made)).values()))
    assert found == ["1.0.0", "1.0.1", "1.1.1", "1.1.2", "2.1.2", "3.1.2"]


def test_the_next_version(tmp_path: Path) -> None:
    directory = repository(tmp_path, v1_0_0=avro("shop.Sold", ID), next=avro("shop.Sold", ID, NO_DEFAULT))
    event = load(directory)["shop.Sold"]
    assert str(next_version(event).version) == "2.0.0"
    assert str(next_version(event, SchemaVersion(3, 0, 0)).version) == "3.0.0"
    with pytest.raises(RepositoryError, match=r"cannot become 1\.1\.0: the change to 1\.0\.0 is a MODEL"):
        next_version(event, SchemaVersion(1, 1, 0))
    with pytest.raises(RepositoryError, match=r"must be 2\.0\.0 or above"):
        next_version(event, SchemaVersion(1, 0, 0))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda at: (at / "a b").mkdir(), "is not called as an event"),
        (lambda at: (at / "a.B").mkdir(), "it has none"),
        (lambda at: ((at / "a.B").mkdir(), (at / "a.B/1.0.avsc").write_text("")), "must be called MODEL"),
        (lambda at: ((at / "a.B").mkdir(), (at / "a.B/1.0.0.xml").write_text("")), "is no schema"),
        (
            lambda at: (
                (at / "a.B").mkdir(),
                (at / "a.B/1.0.0.avsc").write_text(""),
                (at / "a.B/next.proto").write_text(""),
            ),
            "schemas of one kind",
        ),
        (lambda at: None, "has no events"),
    ],
)
def test_a_repository_that_makes_no_sense(tmp_path: Path, make: object, sentence: str) -> None:
    assert callable(make)
    make(tmp_path)
    with pytest.raises(RepositoryError, match=sentence):
        load(tmp_path)


@pytest.mark.parametrize("kind", ["AVRO", "PROTOBUF", "JSON", "THRIFT"])
def test_what_is_no_schema(kind: str) -> None:
    with pytest.raises((RepositoryError, Exception), match="is no"):
        compare_schemas(kind, "{", "{")


FIELDS = [
    "1: required string id",
    "1: optional string id",
    "2: optional i32 n",
    "2: optional i64 n",
    "3: optional list<i32> l",
]
VALUES = {"id": "x", "n": 5, "l": [1, 2]}


@pytest.mark.parametrize("old", range(1, 32))
def test_thrift_is_read_as_the_rules_say(old: int) -> None:
    """Every pair of a few structs: if the rules say that it can be read, all values survive; if not, one is lost or missing."""

    def text(chosen: int) -> str | None:
        found = [field for bit, field in enumerate(FIELDS) if chosen >> bit & 1]
        return thrift(*found) if len({field[0] for field in found}) == len(found) else None

    written_as = text(old)
    if written_as is None:
        return
    for new in range(1, 32):
        read_as = text(new)
        if read_as is None:
            continue
        writer, reader = structs_of(written_as)[-1], structs_of(read_as)[-1]
        writer_names = {spec[1] for spec in writer.thrift_spec.values()}
        least = {spec[1] for spec in writer.thrift_spec.values() if spec[-1]}
        readable = True
        for given in (writer_names, least):
            found = read_struct(reader, write_struct(writer, {name: VALUES[name] for name in given}))
            for spec in reader.thrift_spec.values():
                readable &= spec[1] not in given or found.get(spec[1]) == VALUES[spec[1]]
                readable &= spec[1] in found or not spec[-1]
        assert (compare_schemas("THRIFT", written_as, read_as) == []) == readable, (written_as, read_as)
