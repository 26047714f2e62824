"""Prints a descriptor as a .proto file in the layout of Confluent's registry: declarations in order, without
comments."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from google.protobuf import descriptor_pb2

from kafkapy.registry.formats.proto_text import SCALARS

_NAMES = {number: name for name, number in SCALARS.items()}
_Field = descriptor_pb2.FieldDescriptorProto


def print_file(file: Any, resolved: bool = False) -> str:
    """Return the text. `resolved`: with full type names, for comparisons."""
    lines = [f'syntax = "{file.syntax or "proto2"}";']
    if file.package:
        lines.append(f"package {file.package};")
    if file.dependency:
        lines.append("")
        for index, name in enumerate(file.dependency):
            how = "public " if index in file.public_dependency else "weak " if index in file.weak_dependency else ""
            lines.append(f'import {how}"{name}";')
    options = [f"option {each};" for each in _options(file.options)]
    if options:
        lines += ["", *options]
    printer = ProtoPrinter(file.package, file.syntax == "proto3", resolved)
    for message in file.message_type:
        lines += ["", *printer.message(message)]
    for enum in file.enum_type:
        lines += ["", *printer.enum(enum)]
    if file.extension:
        lines += ["", *printer.extensions(file.extension)]
    for service in file.service:
        lines += ["", *printer.service(service)]
    return "\n".join(lines) + "\n"


class ProtoPrinter:
    def __init__(self, package: str, proto3: bool, resolved: bool) -> None:
        self._prefix = f".{package}." if package else "."
        self._proto3 = proto3
        self._resolved = resolved

    def _type(self, name: str) -> str:
        """Return a type's name, without the package if it is the file's own."""
        if self._resolved or not name.startswith("."):
            return name
        rest = name.removeprefix(self._prefix)
        return name[1:] if rest == name or self._prefix == "." else rest

    def message(self, message: Any, title: str = "message ") -> Iterator[str]:
        yield f"{title}{message.name} {{" if title else "{"
        reserved = [_range(each.start, each.end - 1, 536_870_911) for each in message.reserved_range]
        reserved_names = [f'"{name}"' for name in message.reserved_name]
        for words in (reserved, reserved_names):
            if words:
                yield f"  reserved {', '.join(words)};"
        for option in _options(message.options, without=("map_entry",)):
            yield f"  option {option};"
        entries = {each.name: each for each in message.nested_type if each.options.map_entry}
        groups = {each.type_name.rpartition(".")[2] for each in message.field if each.type == _Field.TYPE_GROUP}
        real = [index for index, oneof in enumerate(message.oneof_decl) if not self._is_synthetic(message, index)]
        for field in message.field:
            if not (field.HasField("oneof_index") and field.oneof_index in real):
                yield from _indented(self.field(field, entries, message.nested_type))
        for index in real:
            yield f"  oneof {message.oneof_decl[index].name} {{"
            for option in _options(message.oneof_decl[index].options):
                yield f"    option {option};"
            for field in message.field:
                if field.HasField("oneof_index") and field.oneof_index == index:
                    yield from _indented(_indented(self.field(field, entries, message.nested_type, in_oneof=True)))
            yield "  }"
        if message.extension_range:
            ranges = [_range(each.start, each.end - 1, 536_870_911) for each in message.extension_range]
            yield f"  extensions {', '.join(ranges)};"
        for nested in message.nested_type:
            if nested.name not in entries and nested.name not in groups:
                yield from ("", *_indented(self.message(nested)))
        for enum in message.enum_type:
            yield from ("", *_indented(self.enum(enum)))
        if message.extension:
            yield from ("", *_indented(self.extensions(message.extension)))
        yield "}"

    def _is_synthetic(self, message: Any, index: int) -> bool:
        return any(f.proto3_optional for f in message.field if f.HasField("oneof_index") and f.oneof_index == index)

    def field(self, field: Any, entries: dict[str, Any], nested: Any, in_oneof: bool = False) -> Iterator[str]:
        options = list(_options(field.options))
        if field.HasField("default_value"):
            options.insert(0, f"default = {_default(field)}")
        if field.HasField("json_name") and field.json_name != json_name(field.name):
            options.append(f'json_name = "{field.json_name}"')
        shown = f" [{', '.join(options)}]" if options else ""
        entry = entries.get(field.type_name.rpartition(".")[2])
        if entry is not None and field.label == _Field.LABEL_REPEATED:
            key, value = entry.field
            yield f"map<{self._kind(key)}, {self._kind(value)}> {field.name} = {field.number}{shown};"
            return
        label = ""
        if field.label == _Field.LABEL_REPEATED:
            label = "repeated "
        elif field.label == _Field.LABEL_REQUIRED:
            label = "required "
        elif field.proto3_optional or not (self._proto3 or in_oneof):
            label = "optional "
        if field.type == _Field.TYPE_GROUP:
            name = field.type_name.rpartition(".")[2]
            body = next(each for each in nested if each.name == name)
            lines = list(self.message(body, ""))
            yield f"{label}group {name} = {field.number}{shown} {{"
            yield from lines[1:]
            return
        yield f"{label}{self._kind(field)} {field.name} = {field.number}{shown};"

    def _kind(self, field: Any) -> str:
        return _NAMES.get(field.type) or self._type(field.type_name)

    def enum(self, enum: Any) -> Iterator[str]:
        yield f"enum {enum.name} {{"
        reserved = [_range(each.start, each.end, 2_147_483_647) for each in enum.reserved_range]
        for words in (reserved, [f'"{name}"' for name in enum.reserved_name]):
            if words:
                yield f"  reserved {', '.join(words)};"
        for option in _options(enum.options):
            yield f"  option {option};"
        for value in enum.value:
            options = ", ".join(_options(value.options))
            yield f"  {value.name} = {value.number}{f' [{options}]' if options else ''};"
        yield "}"

    def extensions(self, fields: Iterable[Any]) -> Iterator[str]:
        for field in fields:
            yield f"extend {self._type(field.extendee)} {{"
            yield from _indented(self.field(field, {}, ()))
            yield "}"

    def service(self, service: Any) -> Iterator[str]:
        yield f"service {service.name} {{"
        for option in _options(service.options):
            yield f"  option {option};"
        for method in service.method:
            takes = ("stream " if method.client_streaming else "") + self._type(method.input_type)
            gives = ("stream " if method.server_streaming else "") + self._type(method.output_type)
            options = list(_options(method.options))
            head = f"  rpc {method.name} ({takes}) returns ({gives})"
            if options:
                yield f"{head} {{"
                yield from (f"    option {option};" for option in options)
                yield "  }"
            else:
                yield f"{head};"
        yield "}"


def json_name(name: str) -> str:
    """Return Protobuf's default JSON name of a field."""
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def _range(start: int, end: int, most: int) -> str:
    return str(start) if start == end else f"{start} to {'max' if end == most else end}"


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" if line else "" for line in lines)


def _options(options: Any, without: tuple[str, ...] = ()) -> Iterator[str]:
    for field, value in options.ListFields():
        if field.name == "uninterpreted_option":
            yield from map(_custom, value)
        elif field.name not in without and field.message_type is None and not field.is_repeated:
            yield f"{field.name} = {_value(field, value)}"


def _default(field: Any) -> str:
    """Return the literal of a default; defaults of bytes are already escaped in a descriptor."""
    if field.type == _Field.TYPE_STRING:
        return _quoted(field.default_value)
    return f'"{field.default_value}"' if field.type == _Field.TYPE_BYTES else str(field.default_value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _value(field: Any, value: Any) -> str:
    if field.enum_type is not None:
        return str(field.enum_type.values_by_number[value].name)
    if isinstance(value, bool):
        return "true" if value else "false"
    return _quoted(value) if isinstance(value, str) else str(value)


def _custom(option: Any) -> str:
    name = ".".join(f"({part.name_part})" if part.is_extension else part.name_part for part in option.name)
    if option.HasField("aggregate_value"):
        return f"{name} = {{ {option.aggregate_value} }}"
    if option.HasField("string_value"):
        return f"{name} = {_quoted(option.string_value.decode(errors='replace'))}"
    ((_, value),) = [(field, value) for field, value in option.ListFields() if field.name != "name"]
    return f"{name} = {value}"
