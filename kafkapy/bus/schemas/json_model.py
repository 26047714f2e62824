"""JSON Schemas as a model: objects with properties. A type that Python cannot express more narrowly is `Any`."""

from __future__ import annotations

import json
import keyword
from typing import Any

from kafkapy.bus.schemas.model import EventModel, ModelEnum, ModelField, ModelRecord, union_of
from kafkapy.bus.schemas.repository import RepositoryError
from kafkapy.common import strict_json

_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def read(text: str, name: str | None) -> EventModel:
    """The model of a JSON schema. Raises RepositoryError."""
    try:
        schema = strict_json.loads(text)
    except ValueError as error:
        raise RepositoryError(f"This is no JSON Schema: it is no JSON: {error}") from None
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise RepositoryError('An event\'s JSON Schema must have "type": "object"')
    title = str(schema.get("title") or "")
    if name is not None and title != name:
        raise RepositoryError(f'The schema\'s "title" is {title!r}, and must be {name!r} as its folder')
    reader = _JsonSchemaReader(schema)
    root = reader.record(schema, (title or "Event").rpartition(".")[2], title)
    return EventModel(root, tuple(reader.records), tuple(reader.enums))


def schema_type(schema: Any) -> str:
    """A type as text for readers: `array of integer`, `string (date-time)`."""
    if not isinstance(schema, dict):
        return "any"
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return " | ".join(json.dumps(each) for each in schema["enum"])
    for word in ("oneOf", "anyOf"):
        if word in schema:
            return " | ".join(map(schema_type, schema[word]))
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return " | ".join(schema_type({**schema, "type": each}) for each in kind)
    if kind == "array":
        return f"array of {schema_type(schema.get('items'))}"
    if kind == "object" and not schema.get("properties") and "additionalProperties" in schema:
        return f"object of {schema_type(schema['additionalProperties'])}"
    if kind == "object":
        return str(schema.get("title") or "object")
    return f"{kind} ({schema['format']})" if "format" in schema else str(kind)


class _JsonSchemaReader:
    def __init__(self, whole: dict[str, Any]) -> None:
        self.records: list[ModelRecord] = []
        self.enums: list[ModelEnum] = []
        self._whole = whole
        self._referred: dict[str, str] = {}
        self._names: set[str] = set()

    def record(self, schema: dict[str, Any], name: str, schema_name: str | None = None) -> ModelRecord:
        name = self._free(name)
        required = set(schema.get("required", ()))
        given = []
        for key, value in schema.get("properties", {}).items():
            if not key.isidentifier() or keyword.iskeyword(key):
                raise RepositoryError(f"The property {key!r} of {name} cannot be a field of a Python class")
            kind = self.type(value, key)
            if key not in required and not kind.endswith("None") and kind != "Any":
                kind += " | None"
            default = None if key in required else "None"
            doc = str(value.get("description", "")) if isinstance(value, dict) else ""
            written = json.dumps(value["default"]) if isinstance(value, dict) and "default" in value else None
            declared = schema_type(value) + ("" if key in required else ", optional")
            given.append(ModelField(key, kind, default, doc, declared, written))
        record = ModelRecord(name, schema_name or name, tuple(given), str(schema.get("description") or ""))
        self.records.append(record)
        return record

    def type(self, schema: Any, name: str) -> str:
        if not isinstance(schema, dict):
            return "Any"
        if "$ref" in schema:
            return self._reference(str(schema["$ref"]), name)
        if "enum" in schema:
            return self._enum(schema["enum"], name)
        for word in ("oneOf", "anyOf"):
            if word in schema:
                return union_of([self.type(each, name) for each in schema[word]])
        kind = schema.get("type")
        if isinstance(kind, list):
            return union_of([self.type({**schema, "type": each}, name) for each in kind])
        if kind == "array":
            return f"list[{self.type(schema.get('items'), name)}]"
        if kind == "object":
            if schema.get("properties"):
                return self.record(schema, _class_name(str(schema.get("title") or name))).name
            return f"dict[str, {self.type(schema.get('additionalProperties'), name)}]"
        return _SCALARS.get(str(kind), "Any")

    def _enum(self, values: list[Any], name: str) -> str:
        if not all(
            isinstance(value, str) and value.isidentifier() and not keyword.iskeyword(value) for value in values
        ):
            return union_of(
                [{str: "str", int: "int", float: "float", bool: "bool"}.get(type(value), "Any") for value in values]
            )
        enum = ModelEnum(self._free(_class_name(name)), tuple(values))
        self.enums.append(enum)
        return enum.name

    def _reference(self, reference: str, name: str) -> str:
        if not reference.startswith("#/"):
            raise RepositoryError(f"The schema refers to {reference}; references to other files are not supported")
        if reference not in self._referred:
            target: Any = self._whole
            for part in reference[2:].split("/"):
                if not isinstance(target, dict) or part not in target:
                    raise RepositoryError(f"The schema refers to {reference}, which it does not have")
                target = target[part]
            self._referred[reference] = _class_name(reference.rpartition("/")[2])
            self._referred[reference] = self.type(target, reference.rpartition("/")[2])
        return self._referred[reference]

    def _free(self, name: str) -> str:
        found, number = name, 1
        while found in self._names:
            number += 1
            found = f"{name}{number}"
        self._names.add(found)
        return found


def _class_name(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.replace("-", "_").replace(".", "_").split("_") if part)
