"""Finds the incompatible changes between two .proto files, by the rules of Confluent's `SchemaDiff`.

These are Protobuf's rules about tags and wire types; in addition, packages, messages and members of a oneof must not
be removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from google.protobuf import descriptor_pb2

from kafkapy.registry.compatibility.incompatibility import Incompatibility
from kafkapy.registry.formats.proto_files import ProtoFiles

_Field = descriptor_pb2.FieldDescriptorProto
_WIRE_KINDS = {
    _Field.TYPE_INT32: "GENERAL_NUMBER",
    _Field.TYPE_INT64: "GENERAL_NUMBER",
    _Field.TYPE_UINT32: "GENERAL_NUMBER",
    _Field.TYPE_UINT64: "GENERAL_NUMBER",
    _Field.TYPE_BOOL: "GENERAL_NUMBER",
    _Field.TYPE_ENUM: "GENERAL_NUMBER",
    _Field.TYPE_SINT32: "SIGNED_NUMBER",
    _Field.TYPE_SINT64: "SIGNED_NUMBER",
    _Field.TYPE_STRING: "STRING_OR_BYTES",
    _Field.TYPE_BYTES: "STRING_OR_BYTES",
    _Field.TYPE_FIXED32: "FIXED32",
    _Field.TYPE_SFIXED32: "FIXED32",
    _Field.TYPE_FIXED64: "FIXED64",
    _Field.TYPE_SFIXED64: "FIXED64",
    _Field.TYPE_FLOAT: "FLOAT",
    _Field.TYPE_DOUBLE: "DOUBLE",
}
_SENTENCES = {
    "PACKAGE_CHANGED": "The package at '{}' in the new schema does not match the package in the old schema",
    "MESSAGE_REMOVED": "The new schema is missing a MESSAGE type at path '{}' in the old schema",
    "FIELD_KIND_CHANGED": "The type of a field at path '{}' in the new schema does not match the old schema",
    "FIELD_SCALAR_KIND_CHANGED": "The kind of a SCALAR field at path '{}' in the new schema does not match the old schema",
    "FIELD_NAMED_TYPE_CHANGED": "The type of a MESSAGE field at path '{}' in the new schema does not match the old schema",
    "FIELD_NUMERIC_LABEL_CHANGED": "The label for a NUMERIC field at path '{}' in the new schema does not match the old schema",
    "REQUIRED_FIELD_ADDED": "A required field at path '{}' in the new schema is missing in the old schema",
    "REQUIRED_FIELD_REMOVED": "The new schema is missing a required field at path '{}' in the old schema",
    "ONEOF_FIELD_REMOVED": "The new schema is missing a oneof field at path '{}' in the old schema",
    "MULTIPLE_FIELDS_MOVED_TO_ONEOF": "Fields in the oneof at path '{}' in the new schema are outside a oneof in the old schema",
    "FIELD_MOVED_TO_EXISTING_ONEOF": "A field in the oneof at path '{}' in the new schema is outside it in the old schema",
}
"""The incompatible changes; others are not searched for."""

Path = tuple[str, ...]


class ProtoType(NamedTuple):
    """A message with the place of its declaration: the package, and the reference (None: the schema itself)."""

    message: Any
    package: str
    origin: tuple[str, int] | None


def incompatible_changes(original: ProtoFiles, update: ProtoFiles) -> list[Incompatibility]:
    found = ProtoComparison(original, update).compare(original.file, update.file)
    return [Incompatibility(kind, _at(path), _SENTENCES[kind].format(_at(path)) + name) for kind, path, name in found]


def _at(path: Path) -> str:
    return "#/" + "/".join(path)


Found = tuple[str, Path, str]
"""Kind, path, and the field's name ("" if the path has it)."""


class ProtoComparison:
    def __init__(self, original: ProtoFiles, update: ProtoFiles) -> None:
        self._before = _types(original)
        self._after = _types(update)
        self._under_way: set[int] = set()

    def compare(self, original: Any, update: Any) -> Iterator[Found]:
        if original.package != update.package:
            yield "PACKAGE_CHANGED", (), ""
        yield from self._messages(original.message_type, update.message_type, ())

    def _messages(self, original: Any, update: Any, path: Path) -> Iterator[Found]:
        after = {message.name: message for message in update if not message.options.map_entry}
        for message in original:
            if not message.options.map_entry:
                other = after.get(message.name)
                if other is None:
                    yield "MESSAGE_REMOVED", (*path, message.name), ""
                else:
                    yield from self._message(message, other, (*path, message.name))

    def _message(self, original: Any, update: Any, path: Path) -> Iterator[Found]:
        if id(original) in self._under_way:
            return
        self._under_way.add(id(original))
        try:
            yield from self._fields(original, update, path)
        finally:
            self._under_way.discard(id(original))
        yield from self._messages(original.nested_type, update.nested_type, path)

    def _fields(self, original: Any, update: Any, path: Path) -> Iterator[Found]:
        before, after = _by_tag(original), _by_tag(update)
        yield from _new_exclusions(before, after, path)
        survivors = {oneof for tag, (_, oneof) in before.items() if oneof and tag in after}
        kept = survivors | {oneof for _, oneof in after.values() if oneof} | _oneof_names(update)
        for tag in sorted(before.keys() | after.keys()):
            field, oneof = before.get(tag, (None, None))
            other, other_oneof = after.get(tag, (None, None))
            at = (*path, other_oneof, str(tag)) if other_oneof else (*path, str(tag))
            if field is None:
                if not other_oneof and other.label == _Field.LABEL_REQUIRED:
                    yield "REQUIRED_FIELD_ADDED", at, f" ({other.name})"
            elif other is None:
                if oneof is None:
                    if field.label == _Field.LABEL_REQUIRED:
                        yield "REQUIRED_FIELD_REMOVED", at, f" ({field.name})"
                elif oneof in kept:
                    yield "ONEOF_FIELD_REMOVED", (*path, oneof, str(tag)), f" ({field.name})"
            else:
                for kind, where, name in self._field(field, other, at, oneof, other_oneof, original, update):
                    yield kind, where, name or f" ({other.name})"

    def _field(
        self,
        field: Any,
        other: Any,
        path: Path,
        oneof: str | None,
        other_oneof: str | None,
        holder: Any,
        new_holder: Any,
    ) -> Iterator[Found]:
        labels = _label(field, oneof, self._before), _label(other, other_oneof, self._after)
        maps = _map_entry(field, holder), _map_entry(other, new_holder)
        if maps[0] is not None and maps[1] is not None:
            for i in range(2):
                yield from self._types(maps[0].field[i], maps[1].field[i], (None, None), path)
        elif maps[0] is not maps[1]:
            yield "FIELD_KIND_CHANGED", path, ""
        else:
            yield from self._types(field, other, labels, path)

    def _types(self, field: Any, other: Any, labels: tuple[int | None, int | None], path: Path) -> Iterator[Found]:
        kind, new_kind = _WIRE_KINDS.get(field.type), _WIRE_KINDS.get(other.type)
        if (kind is None) != (new_kind is None):
            yield "FIELD_KIND_CHANGED", path, ""
        elif kind is None:
            yield from self._message_types(field.type_name, other.type_name, path)
        elif kind != new_kind:
            yield "FIELD_SCALAR_KIND_CHANGED", path, ""
        elif None not in labels and labels[0] != labels[1] and kind != "STRING_OR_BYTES":
            yield "FIELD_NUMERIC_LABEL_CHANGED", path, ""

    def _message_types(self, name: str, other: str, path: Path) -> Iterator[Found]:
        before, after = self._before.messages.get(name), self._after.messages.get(other)
        if before is None or after is None:  # the type is declared nowhere, which an older registry accepted
            if name != other:
                yield "FIELD_NAMED_TYPE_CHANGED", path, ""
            return
        local = _local(name, before.package)
        if local != _local(other, after.package):
            yield "FIELD_NAMED_TYPE_CHANGED", path, ""
        elif before.origin != after.origin:  # types of the file itself are compared in any case
            found = list(self._message(before.message, after.message, tuple(local.split("."))))
            yield from found
            if found:
                yield "FIELD_NAMED_TYPE_CHANGED", path, ""


class ProtoTypes(NamedTuple):
    messages: dict[str, ProtoType]
    proto3: bool


def _types(schema: ProtoFiles) -> ProtoTypes:
    """Return the types by full name with a leading dot."""
    found: dict[str, ProtoType] = {}

    def add(message: Any, prefix: str, package: str, origin: tuple[str, int] | None) -> None:
        name = f"{prefix}.{message.name}"
        found[name] = ProtoType(message, package, origin)
        for nested in message.nested_type:
            add(nested, name, package, origin)

    for name, file in schema.documents.items():
        origin = None if file is schema.file else schema.origins.get(name, (name, 0))
        for message in file.message_type:
            add(message, f".{file.package}" if file.package else "", file.package, origin)
    return ProtoTypes(found, schema.file.syntax == "proto3")


def _local(name: str, package: str) -> str:
    return name.removeprefix(f".{package}.") if package else name[1:]


def _by_tag(message: Any) -> dict[int, tuple[Any, str | None]]:
    """Return tag -> (field, its oneof); proto3's synthetic oneofs of `optional` fields are ignored."""
    found = {}
    for field in message.field:
        real = field.HasField("oneof_index") and not field.proto3_optional
        found[field.number] = field, message.oneof_decl[field.oneof_index].name if real else None
    return found


def _oneof_names(message: Any) -> set[str]:
    synthetic = {field.oneof_index for field in message.field if field.proto3_optional}
    return {oneof.name for index, oneof in enumerate(message.oneof_decl) if index not in synthetic}


def _new_exclusions(
    before: dict[int, tuple[Any, str | None]], after: dict[int, tuple[Any, str | None]], path: Path
) -> Iterator[Found]:
    """Return fields that could be set together before and are now in one oneof."""
    for oneof in dict.fromkeys(name for _, name in after.values() if name):
        groups: set[object] = set()
        moved = 0
        for tag, (_, name) in after.items():
            if name == oneof and tag in before:
                was = before[tag][1]
                groups.add(was if was is not None else tag)
                moved += was is None
        if len(groups) > 1:
            yield "MULTIPLE_FIELDS_MOVED_TO_ONEOF" if moved > 1 else "FIELD_MOVED_TO_EXISTING_ONEOF", (*path, oneof), ""


def _label(field: Any, oneof: str | None, types: ProtoTypes) -> int | None:
    """Return the label in the text; None if there is none."""
    if oneof is not None:
        return None
    if field.label == _Field.LABEL_OPTIONAL and types.proto3 and not field.proto3_optional:
        return None
    return int(field.label)


def _map_entry(field: Any, holder: Any) -> Any:
    if field.type != _Field.TYPE_MESSAGE or field.label != _Field.LABEL_REPEATED:
        return None
    name = field.type_name.rpartition(".")[2]
    return next((each for each in holder.nested_type if each.name == name and each.options.map_entry), None)
