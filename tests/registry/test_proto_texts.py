""".proto files are read as protoc reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2

from kafkapy.registry.compatibility import SchemaParseError
from kafkapy.registry.formats import parse
from kafkapy.registry.formats.proto_lexis import plain_tokens, unescaped
from kafkapy.registry.formats.references import Documents
from kafkapy.registry.formats.strictness import Strictness

TWO, THREE = 'syntax = "proto2";\n', 'syntax = "proto3";\n'


def of_protoc(text: str, directory: Path) -> Any:
    """What protoc makes of a file, without names for JSON, which it adds to all fields."""
    import grpc_tools
    from grpc_tools import protoc

    (directory / "default.proto").write_text(text, "utf-8")
    known = Path(str(grpc_tools.__file__)).parent / "_proto"
    assert protoc.main(["", f"-I{directory}", f"-I{known}", f"-o{directory}/out", f"{directory}/default.proto"]) == 0
    found = descriptor_pb2.FileDescriptorSet.FromString((directory / "out").read_bytes()).file[0]
    waiting = list(found.message_type)
    while waiting:
        message = waiting.pop()
        waiting += message.nested_type
        for field in message.field:
            field.ClearField("json_name")
    return found


@pytest.mark.parametrize(
    "text",
    [
        THREE + "message M { optional string note = 1; oneof _note { string a = 2; string b = 3; } }",
        THREE + "message M { optional string note = 1; string _note = 2; }",
        THREE + "message M { optional string note = 1; string _note = 2; oneof X_note { int32 z = 3; } }",
        THREE + "message M { optional string _note = 1; optional string note = 2; }",
        THREE + "message M { optional string __x = 1; oneof q { int32 z = 3; } optional int32 y = 4; }",
        THREE + "message M { message N { optional int32 a = 1; int32 _a = 2; } optional N a = 1; }",
        TWO + "message M { optional int32 a = 0x10 [default = 0x1F]; optional int32 b = 017 [default = -017]; }",
        TWO
        + "message M { reserved 0x10 to 0X20, 010; extensions 0100 to max; optional uint64 d = 4 [default = 0xFFFF]; }",
        TWO + r"""message M { optional string a = 1 [default = "\x41\101\n\'\"\\\?\a"]; }""",
        TWO + """message M { optional string a = 1 [default = "a" 'b"' /* c */ "d" // "e"\n 'f']; }""",
        TWO + r"""message M { optional string a = 1 [default = "\u00e9\U0001F600é😀"]; }""",
        TWO + r"""message M { optional bytes a = 1 [default = "\x00\377\001abc" '"\'\\']; }""",
        THREE + """option java_package = "com." 'shop'; message M { string b_c = 1 [deprecated = true]; }""",
        THREE + "message M { ; int32 to = 1; int32 max = 2; enum E { A = 0; B = 0x7F; C = -0x80; } }",
    ],
)
def test_protoc_reads_the_same(text: str, tmp_path: Path) -> None:
    schema = parse("PROTOBUF", text)
    assert schema.files.file == of_protoc(text, tmp_path)  # type: ignore[attr-defined]
    assert parse("PROTOBUF", schema.normalized).normalized == schema.normalized
    assert schema.canonical == text


@pytest.mark.parametrize(
    ("file", "used"),
    [
        ("confluent/meta.proto", "confluent.Meta"),
        ("confluent/type/decimal.proto", "confluent.type.Decimal"),
        ("google/type/money.proto", "google.type.Money"),
        ("google/type/dayofweek.proto", "google.type.DayOfWeek"),
        ("google/protobuf/struct.proto", "google.protobuf.Struct"),
        ("google/protobuf/field_mask.proto", "google.protobuf.FieldMask"),
        ("google/protobuf/descriptor.proto", "google.protobuf.FileOptions"),
    ],
)
def test_files_that_need_no_reference(file: str, used: str) -> None:
    text = f'{THREE}import "{file}";\nmessage M {{ {used} a = 1; }}'
    assert parse("PROTOBUF", text).files.file.message_type[0].field[0].type_name == f".{used}"  # type: ignore[attr-defined]


def test_confluents_metadata() -> None:
    text = THREE + (
        'import "confluent/meta.proto"; import "confluent/type/decimal.proto"; '
        'message M { option (confluent.message_meta).doc = "d"; '
        'confluent.type.Decimal d = 1 [(confluent.field_meta) = { params: [{ key: "precision", value: "8" }] }]; }'
    )
    assert 'params: [{ key: "precision", value: "8" }]' in parse("PROTOBUF", text).normalized


@pytest.mark.parametrize("file", ["confluent/none.proto", "google/type/none.proto", "other.proto"])
def test_other_files_need_one(file: str) -> None:
    with pytest.raises(SchemaParseError, match=f'No reference found for import "{file}"'):
        parse("PROTOBUF", f'{THREE}import "{file}"; message M {{}}')


@pytest.mark.parametrize(
    "body",
    [
        "Gone a = 1; M b = 2; N.O c = 3; message N { message O {} }",
        "int32 a = 1; int32 b = 1;",
        "E e = 1; enum E { ONE = 1; }",
        "int32 foo_bar = 1; int32 fooBar = 2;",
    ],
)
def test_what_is_stored_stays_readable(body: str) -> None:
    text = f"{THREE}package p;\nmessage M {{ {body} }}"
    with pytest.raises(SchemaParseError):
        parse("PROTOBUF", text)
    stored = parse("PROTOBUF", text, Documents(), Strictness.STORED)
    assert stored.incompatibilities(stored) == []
    assert stored.canonical == text
    if "Gone" in body:
        assert [each.type_name for each in stored.files.file.message_type[0].field] == [".Gone", ".p.M", ".p.M.N.O"]  # type: ignore[attr-defined]


def test_tokens() -> None:
    assert plain_tokens("a0x10 0x10 1.05 005 // 0x1 'a' 'b'\n'it''s \"so\"'") == (
        "a0x10 16 1.05 5 // 0x1 'a' 'b'\n\"its \\\"so\\\"\""
    )
    assert unescaped(r"\x4a\112\u004A\U0000004A\n\q") == "JJJJ\n\\q"
