"""Random pairs of schemas, and whether a reference implementation has the same verdict about each.

    python -m benchmarks.schema_pairs AVRO --count 1000 --reference "java -cp CLASSES:LIBRARIES Reference"

The reference is a program that reads lines `old TAB new` and writes for each a line that begins with COMPATIBLE, INCOMPATIBLE or
PARSE (one of the two is no schema to it); what follows a tab is shown where verdicts differ. For Avro it is ten lines around
`SchemaCompatibility.checkReaderWriterCompatibility` of org.apache.avro:avro; for JSON Schema and Protobuf around
`SchemaDiff.compare` of Confluent's json-schema-provider and protobuf-provider. Without --reference it counts ours.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from kafkapy.registry.compatibility import SchemaParseError, compare

Pair = tuple[str, str]


class AvroPairs:
    """A type, and one that is changed in one to three places."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._names = 0

    def pair(self) -> Pair:
        self._names = 0
        old = self._type(3)
        new = copy.deepcopy(old)
        for _ in range(self._rng.randint(1, 3)):
            new = self._changed(new)
        return json.dumps(old), json.dumps(new)

    def _primitive(self) -> str:
        return self._rng.choice(["null", "boolean", "int", "long", "float", "double", "bytes", "string"])

    def _name(self) -> str:
        self._names += 1
        return f"N{self._names}"

    def _type(self, depth: int) -> Any:
        if depth == 3:
            return self._record(depth)
        kind = self._rng.choice(["primitive"] * 4 + ["array", "map", "enum", "fixed", "record", "union"] * (depth > 0))
        if kind == "array":
            return {"type": "array", "items": self._type(depth - 1)}
        if kind == "map":
            return {"type": "map", "values": self._type(depth - 1)}
        if kind == "enum":
            symbols = self._rng.sample("ABCDE", self._rng.randint(1, 4))
            more = {"default": symbols[0]} if self._rng.random() < 0.3 else {}
            return {"type": "enum", "name": self._name(), "symbols": symbols, **more}
        if kind == "fixed":
            return {"type": "fixed", "name": self._name(), "size": self._rng.randint(1, 3)}
        if kind == "record":
            return self._record(depth)
        if kind == "union":
            return self._rng.sample(
                ["null", "int", "long", "float", "string", "bytes", self._record(0)], self._rng.randint(1, 4)
            )
        return self._primitive()

    def _record(self, depth: int) -> Any:
        name = self._name()
        fields = [self._field(f"f{i}", depth) for i in range(self._rng.randint(0, 4))]
        if self._rng.random() < 0.2:
            fields.append({"name": "again", "type": ["null", name]})
        return {"type": "record", "name": name, "fields": fields}

    def _field(self, name: str, depth: int) -> Any:
        field: dict[str, Any] = {"name": name, "type": self._type(depth - 1 if depth else 0)}
        defaults = {
            "null": None,
            "boolean": True,
            "int": 1,
            "long": 1,
            "float": 1.5,
            "double": 1.5,
            "bytes": "",
            "string": "",
        }
        if isinstance(field["type"], str) and self._rng.random() < 0.5:
            field["default"] = defaults[field["type"]]
        return field

    def _places(self, node: Any) -> Iterator[tuple[Any, Any]]:
        """Where a type stands: what holds it, and under which key."""
        if isinstance(node, dict):
            for key in ("items", "values"):
                if key in node:
                    yield node, key
                    yield from self._places(node[key])
            for field in node.get("fields", ()):
                yield field, "type"
                yield from self._places(field["type"])
        elif isinstance(node, list):
            for i, branch in enumerate(node):
                yield node, i
                yield from self._places(branch)

    def _nodes(self, root: Any) -> list[Any]:
        return [root] + [holder[key] for holder, key in self._places(root) if isinstance(holder[key], dict)]

    def _changed(self, root: Any) -> Any:
        places = list(self._places(root))
        if places and self._rng.random() < 0.5:
            holder, key = self._rng.choice(places)
            now = holder[key]
            holder[key] = self._rng.choice(
                [self._primitive(), self._wider(now), ["null", now] if isinstance(now, str) else now]
            )
            if isinstance(holder, dict):
                holder.pop("default", None)
            return root
        node = self._rng.choice(self._nodes(root))
        kind = node["type"]
        if kind == "record":
            self._change_fields(node)
        elif kind == "enum":
            node["symbols"] = self._rng.sample("ABCDE", self._rng.randint(1, 5))
            node.pop("default", None)
            if self._rng.random() < 0.3:
                node["default"] = node["symbols"][0]
        elif kind == "fixed":
            node["size"] = self._rng.randint(1, 3)
        if "name" in node and self._rng.random() < 0.15 and not json.dumps(root).count(f'"{node["name"]}"') > 1:
            if self._rng.random() < 0.5:
                node["aliases"] = [node["name"]]
            node["name"] = self._name() + "x"
        return root

    def _wider(self, now: Any) -> Any:
        widened = {"int": "long", "long": "double", "float": "double", "string": "bytes", "bytes": "string"}
        return widened.get(now, now) if isinstance(now, str) else now

    def _change_fields(self, node: Any) -> None:
        fields = node["fields"]
        change = self._rng.choice(["add", "drop", "rename", "swap"])
        if change == "add" or not fields:
            fields.append(self._field(f"g{self._rng.randint(0, 99)}", 1))
            if len({field["name"] for field in fields}) < len(fields):
                fields.pop()
        elif change == "drop":
            fields.pop(self._rng.randrange(len(fields)))
        elif change == "rename":
            field = self._rng.choice(fields)
            if self._rng.random() < 0.5:
                field["aliases"] = [field["name"]]
            field["name"] = f"h{self._rng.randint(0, 9_999)}"
        else:
            self._rng.shuffle(fields)


class JsonPairs:
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def pair(self) -> Pair:
        old = self._schema(3)
        new = copy.deepcopy(old)
        for _ in range(self._rng.randint(1, 3)):
            new = self._changed(new, 3)
        return json.dumps(old), json.dumps(new)

    def _some(self, **choices: Callable[[], Any]) -> dict[str, Any]:
        return {name: make() for name, make in choices.items() if self._rng.random() < 0.3}

    def _count(self) -> int:
        return self._rng.randint(0, 5)

    def _schema(self, depth: int) -> Any:
        rng = self._rng
        kinds = ["string", "number", "integer", "boolean", "null", "enum", "const", "empty", "bool"]
        kind = rng.choice(
            (["object"] * 8 if depth == 3 else kinds)
            + ["object", "array", "combined", "not", "types"] * (depth > 0) * 2
        )
        if kind == "string":
            return {
                "type": kind,
                **self._some(minLength=self._count, maxLength=self._count, pattern=lambda: rng.choice(["a", "b*"])),
            }
        if kind in ("number", "integer"):
            limits = self._some(minimum=self._count, maximum=self._count, exclusiveMinimum=self._count)
            return {"type": kind, **limits, **self._some(multipleOf=lambda: rng.choice([1, 2, 3, 4, 0.5]))}
        if kind == "enum":
            return {"enum": rng.sample([1, 2, "a", True, None], rng.randint(1, 3))}
        if kind == "const":
            return {"const": rng.choice([1, "a"])}
        if kind == "empty":
            return {}
        if kind == "bool":
            return rng.random() < 0.5
        if kind == "object":
            return self._object(depth)
        if kind == "array":
            return self._array(depth)
        if kind == "combined":
            parts = [self._schema(depth - 1) for _ in range(rng.randint(1, 3))]
            return {rng.choice(["allOf", "anyOf", "oneOf"]): parts}
        if kind == "not":
            return {"not": self._schema(depth - 1)}
        if kind == "types":
            return {"type": rng.sample(["string", "integer", "null", "boolean"], rng.randint(1, 3))}
        return {"type": kind}

    def _object(self, depth: int) -> Any:
        rng = self._rng
        properties = {name: self._schema(depth - 1) for name in rng.sample("abcd", rng.randint(0, 3))}
        for each in properties.values():
            if isinstance(each, dict) and rng.random() < 0.2:
                each["default"] = 1
        found: dict[str, Any] = {"type": "object", "properties": properties}
        if properties and rng.random() < 0.5:
            found["required"] = rng.sample(sorted(properties), rng.randint(1, len(properties)))
        more = self._some(
            additionalProperties=lambda: rng.choice([True, False, False, self._schema(depth - 1)]),
            minProperties=self._count,
            maxProperties=self._count,
            patternProperties=lambda: {"^[ab]": self._schema(0)},
            dependencies=lambda: {"a": rng.choice([["b"], ["b", "c"], {"type": "object", "required": ["d"]}])},
        )
        return found | more

    def _array(self, depth: int) -> Any:
        rng = self._rng
        found: dict[str, Any] = {"type": "array"}
        if rng.random() < 0.5:
            found["items"] = self._schema(depth - 1)
        else:
            found["items"] = [self._schema(depth - 1) for _ in range(rng.randint(1, 3))]
            found |= self._some(additionalItems=lambda: rng.choice([True, False, self._schema(depth - 1)]))
        return found | self._some(minItems=self._count, maxItems=self._count, uniqueItems=lambda: rng.random() < 0.5)

    def _changed(self, schema: Any, depth: int) -> Any:
        rng = self._rng
        if not isinstance(schema, dict) or rng.random() < 0.1:
            return self._schema(max(depth - 1, 0))
        inner: list[tuple[Any, Any]] = []
        for key in ("allOf", "anyOf", "oneOf"):
            inner += [(schema[key], i) for i in range(len(schema.get(key, ())))]
        inner += [(schema["properties"], name) for name in schema.get("properties", ())]
        if isinstance(schema.get("items"), dict | list):
            items = schema["items"]
            inner += [(items, i) for i in range(len(items))] if isinstance(items, list) else [(schema, "items")]
        if inner and rng.random() < 0.6:
            holder, key = rng.choice(inner)
            holder[key] = self._changed(holder[key], depth - 1)
            return schema
        kind = schema.get("type") if isinstance(schema.get("type"), str) else None
        other = (
            self._object(max(depth, 1))
            if kind == "object"
            else self._array(max(depth, 1))
            if kind == "array"
            else self._schema(0)
        )
        for key in ("allOf", "anyOf", "oneOf"):
            if key in schema:
                if rng.random() < 0.3:
                    schema[rng.choice(["allOf", "anyOf", "oneOf"])] = schema.pop(key)
                elif rng.random() < 0.5 and len(schema[key]) > 1:
                    schema[key].pop(rng.randrange(len(schema[key])))
                else:
                    schema[key].append(self._schema(0))
                return schema
        if kind in ("object", "array") and isinstance(other, dict):
            key = rng.choice(sorted(other))
            return {**schema, key: other[key]}
        return other


class ProtobufPairs:
    _SCALARS = (
        "int32",
        "int64",
        "uint32",
        "sint32",
        "sint64",
        "bool",
        "fixed32",
        "sfixed64",
        "string",
        "bytes",
        "double",
        "float",
    )

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def pair(self) -> Pair:
        old = self._file()
        new = copy.deepcopy(old)
        for _ in range(self._rng.randint(1, 4)):
            self._change(new)
        return _proto_text(old), _proto_text(new)

    def _kind(self) -> str:
        return self._rng.choice([*self._SCALARS, "M0", "M1", "E", "map<string, int32>", "map<int32, M0>"])

    def _field(self, tag: int) -> dict[str, Any]:
        kind = self._kind()
        label = "" if kind.startswith("map") else self._rng.choice(["", "", "optional ", "repeated "])
        return {"tag": tag, "type": kind, "label": label, "oneof": None, "name": f"f{tag}"}

    def _file(self) -> dict[str, Any]:
        messages = {}
        for name in ("M0", "M1", "M2"):
            fields = [self._field(tag) for tag in self._rng.sample(range(1, 9), self._rng.randint(1, 5))]
            for field in fields:
                if not field["label"] and not field["type"].startswith("map") and self._rng.random() < 0.3:
                    field["oneof"] = self._rng.choice(["x", "y"])
            messages[name] = fields
        return {"package": "p", "messages": messages}

    def _change(self, file: dict[str, Any]) -> None:
        rng = self._rng
        if rng.random() < 0.03:
            file["package"] = "q"
        if rng.random() < 0.05:
            file["messages"].pop("M2", None)
        fields = file["messages"][rng.choice(sorted(file["messages"]))]
        change = rng.choice(["add", "drop", "type", "label", "oneof", "rename"])
        if change == "add" or not fields:
            free = set(range(1, 12)) - {field["tag"] for field in fields}
            fields.append(self._field(rng.choice(sorted(free))))
            return
        field = rng.choice(fields)
        if change == "drop":
            fields.remove(field)
        elif change == "type":
            field["type"] = self._kind()
            if field["type"].startswith("map"):
                field["label"], field["oneof"] = "", None
        elif change == "label" and not field["oneof"] and not field["type"].startswith("map"):
            field["label"] = rng.choice(["", "optional ", "repeated "])
        elif change == "oneof" and not field["type"].startswith("map"):
            field["label"], field["oneof"] = "", rng.choice([None, "x", "y", "z"])
        elif change == "rename":
            field["name"] = f"g{field['tag']}"


def _proto_text(file: dict[str, Any]) -> str:
    words = [f'syntax = "proto3"; package {file["package"]}; enum E {{ ZERO = 0; }}']
    for name, fields in file["messages"].items():
        body = [_field_text(field) for field in fields if field["oneof"] is None]
        for oneof in dict.fromkeys(field["oneof"] for field in fields if field["oneof"]):
            body.append(
                f"oneof {oneof} {{ {' '.join(_field_text(field) for field in fields if field['oneof'] == oneof)} }}"
            )
        words.append(f"message {name} {{ {' '.join(body)} }}")
    return " ".join(words)


def _field_text(field: dict[str, Any]) -> str:
    return f"{field['label']}{field['type']} {field['name']} = {field['tag']};"


def verdict(schema_type: str, pair: Pair) -> tuple[str, str]:
    """COMPATIBLE, INCOMPATIBLE or PARSE, and why."""
    try:
        found = compare(schema_type, *pair)
    except SchemaParseError as error:
        return "PARSE", str(error)
    return ("INCOMPATIBLE" if found else "COMPATIBLE"), str(sorted({each.kind for each in found}))


SOURCES: dict[str, type[AvroPairs] | type[JsonPairs] | type[ProtobufPairs]] = {
    "AVRO": AvroPairs,
    "JSON": JsonPairs,
    "PROTOBUF": ProtobufPairs,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("schema_type", choices=tuple(SOURCES))
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reference", help="the command of the reference implementation")
    given = parser.parse_args()
    rng = random.Random(given.seed)
    source: AvroPairs | JsonPairs | ProtobufPairs = SOURCES[given.schema_type](rng)
    pairs = [source.pair() for _ in range(given.count)]
    ours = [verdict(given.schema_type, pair) for pair in pairs]
    print(f"{given.count} pairs of {given.schema_type}, seed {given.seed}: {dict(Counter(each for each, _ in ours))}")
    if given.reference is None:
        return 0
    lines = "".join(f"{old}\t{new}\n" for old, new in pairs)
    answer = subprocess.run(shlex.split(given.reference), input=lines, capture_output=True, text=True, check=True)
    theirs = [line.split("\t", 1) for line in answer.stdout.splitlines()]
    different = [i for i in range(given.count) if theirs[i][0] != ours[i][0]]
    for i in different[:20]:
        print(f"\n{pairs[i][0]}\n{pairs[i][1]}\n  here:      {ours[i]}\n  reference: {theirs[i]}")
    print(f"{given.count - len(different)} verdicts agree, {len(different)} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
