"""Texts of Avro as its Java library (1.12.1) reads and writes them."""

from __future__ import annotations

import json

import pytest

from kafkapy.registry.compatibility import SchemaParseError, compare
from kafkapy.registry.formats import parse
from kafkapy.registry.formats.avro_numbers import java_text
from kafkapy.registry.formats.references import Documents
from kafkapy.registry.formats.strictness import Strictness


def field(kind: str, default: str) -> str:
    return f'{{"type":"record","name":"R","fields":[{{"name":"f","type":{kind},"default":{default}}}]}}'


def kept(text: str) -> str:
    """The default as the canonical form has it."""
    return parse("AVRO", text).canonical.partition('"default":')[2].removesuffix("}]}")


@pytest.mark.parametrize(
    ("kind", "default", "canonical"),
    [
        ('"double"', '"NaN"', '"NaN"'),
        ('"float"', '"-Infinity"', '"-Infinity"'),
        ('"double"', '"+Infinity"', '"Infinity"'),
        ('"double"', "1e400", '"Infinity"'),
        ('"double"', "-1e400", '"-Infinity"'),
        ('"double"', '"1.5"', "1.5"),
        ('{"type":"double"}', '"NaN"', '"NaN"'),
        ('"double"', "0.10", "0.1"),
        ('"double"', "1e10", "1.0E10"),
        ('"double"', "12345678901234567.12345678901234567", "1.2345678901234568E16"),
        ('"double"', "123456789012345678901234567890", "123456789012345678901234567890"),
        ('"double"', "1", "1"),
        ('{"type":"array","items":"double"}', "[1e400,0.50]", '["Infinity",0.5]'),
        ('"string"', '"1.50"', '"1.50"'),
        ('"long"', "9223372036854775807", "9223372036854775807"),
    ],
)
def test_defaults(kind: str, default: str, canonical: str) -> None:
    assert kept(field(kind, default)) == canonical
    assert kept(field(kind, canonical)) == canonical


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        ('"double"', '"infinity"'),
        ('"double"', '"INF"'),
        ('"double"', "true"),
        ('"string"', "1.5"),
        ('"int"', "1.0"),
        ('"int"', "2147483648"),
        ('"int"', "null"),
        ('"int"', "true"),
        ('"long"', '"0"'),
        ('"long"', "1e3"),
        ('"long"', "9223372036854775808"),
    ],
)
def test_wrong_defaults_are_refused_in_new_schemas_alone(kind: str, default: str) -> None:
    with pytest.raises(SchemaParseError, match="Invalid default for field f"):
        parse("AVRO", field(kind, default))
    old = field(kind, default)
    assert json.loads(parse("AVRO", old, Documents(), Strictness.STORED).canonical) == json.loads(old)
    assert compare("AVRO", old, field(kind, default).partition(',"default"')[0] + "}]}") == []


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"record","name":"my-rec","namespace":"a-b","fields":[{"name":"x-y","type":"int"}]}',
        '{"type":"record","name":"","fields":[]}',
        '{"type":"enum","name":"E","symbols":["A-B","1"]}',
        '{"type":"enum","name":"E","symbols":["A"],"default":"B"}',
    ],
)
def test_names_are_validated_in_new_schemas_alone(text: str) -> None:
    with pytest.raises(SchemaParseError):
        parse("AVRO", text)
    assert parse("AVRO", text, Documents(), Strictness.STORED).canonical == text
    assert parse("AVRO", text, Documents(), Strictness.GIVEN).identity
    assert compare("AVRO", text, '"string"') != []


@pytest.mark.parametrize(
    "text",
    [
        '/* Licensed. */\n{"type": "int"}',
        '{"type": /* a " quote */ "int" // the end\n}',
        '// "int" \r\n"int"',
        '{"type": "int"} // behind',
        '{"type": "int", "url": "http://x/*y*/"}',
    ],
)
def test_comments(text: str) -> None:
    assert json.loads(parse("AVRO", text).canonical) in ("int", {"type": "int", "url": "http://x/*y*/"})
    assert parse("AVRO", '{"type":"array","items":"int"}', Documents.of({"r": text}))


@pytest.mark.parametrize(
    "text",
    [
        '{"type": "int",}',
        "# no\n{}",
        "{'type': 'int'}",
        '\ufeff"int"',
        '{"type": "int"} "int"',
        "int",
        "/* open",
        '"\\ud83d"',
    ],
)
def test_what_is_no_json(text: str) -> None:
    with pytest.raises(SchemaParseError, match="No JSON"):
        parse("AVRO", text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"type":"fixed","name":"F","size":2147483648}', "Invalid or no size"),
        ('{"type":"fixed","name":"F","size":4.0}', "Invalid or no size"),
        ('{"type":"record","name":"R","fields":[{"name":"f","type":"int","aliases":"x"}]}', "aliases is not an array"),
        ('{"type":"record","name":"R","aliases":[1],"fields":[]}', "aliases is not an array"),
        (
            '{"type":"record","name":"R","fields":[{"name":"f","type":"double","default":NaN}]}',
            "NaN is not a JSON number",
        ),
    ],
)
def test_what_is_refused(text: str, why: str) -> None:
    with pytest.raises(SchemaParseError, match=why):
        parse("AVRO", text)


def test_properties_keep_their_numbers() -> None:
    text = '{"type":"record","name":"R","fields":[],"x":0.10,"y":1e400,"z":12345678901234567.12345678901234567}'
    assert parse("AVRO", text).canonical == text


def record(levels: int) -> str:
    text = '"int"'
    for level in range(levels):
        text = f'{{"type":"record","name":"R{level}","fields":[{{"name":"f","type":{text}}}]}}'
    return text


@pytest.mark.parametrize("text", [record(300), '{"type":"array","items":' * 900 + '"int"' + "}" * 900])
def test_depth(text: str) -> None:
    assert parse("AVRO", text).schema_type == "AVRO"
    assert compare("AVRO", text, text) == []


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.1, "0.1"),
        (1e7, "1.0E7"),
        (9999999.0, "9999999.0"),
        (0.001, "0.001"),
        (9.99e-4, "9.99E-4"),
        (-1.5e300, "-1.5E300"),
    ],
)
def test_doubles_as_java_writes_them(number: float, text: str) -> None:
    assert java_text(number) == text
