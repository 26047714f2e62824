"""Converts a .proto file to a descriptor (`FileDescriptorProto`): proto-schema-parser parses it, Protobuf resolves
types later.

Standard options are set in the descriptor; custom ones remain uninterpreted, because their declaration may be missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from google.protobuf import descriptor_pb2

from kafkapy.registry.compatibility.incompatibility import SchemaParseError
from kafkapy.registry.formats.proto_lexis import plain_tokens, unescaped

_Field = descriptor_pb2.FieldDescriptorProto
SCALARS = {
    name: getattr(_Field, f"TYPE_{name.upper()}")
    for name in (
        *("double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string", "bytes"),
        *("uint32", "sfixed32", "sfixed64", "sint32", "sint64"),
    )
}
_LABELS = {"OPTIONAL": _Field.LABEL_OPTIONAL, "REQUIRED": _Field.LABEL_REQUIRED, "REPEATED": _Field.LABEL_REPEATED}
_MAX_TAG, _MAX_ENUM = 536_870_911, 2_147_483_647


def descriptor_of(text: str, name: str) -> Any:
    """Parse a .proto file. Raises SchemaParseError with line and column."""
    tree = _parse(text)
    if tree.edition is not None:
        raise SchemaParseError("Editions of Protobuf are not supported; the syntax is proto2 or proto3")
    syntax = tree.syntax or "proto2"
    if syntax not in ("proto2", "proto3"):
        raise SchemaParseError(f'Unrecognized syntax identifier "{syntax}"; it is proto2 or proto3')
    file = descriptor_pb2.FileDescriptorProto(name=name, syntax="proto3" if syntax == "proto3" else None)
    builder = ProtoBuilder(syntax)
    try:
        for element in tree.file_elements:
            builder.add_to_file(file, element)
    except (TypeError, ValueError, AttributeError) as error:
        raise SchemaParseError(f"Not a .proto file: {error}") from None
    return file


def _parse(text: str) -> Any:
    from antlr4.error.ErrorListener import ErrorListener
    from proto_schema_parser.parser import Parser

    class Refuse(ErrorListener):  # type: ignore[misc]  # antlr4 has no types
        def syntaxError(self, recognizer: Any, symbol: Any, line: int, column: int, message: str, error: Any) -> None:
            raise SchemaParseError(f"Syntax error in {line}:{column + 1}: {message[:200]}")

    def setup(part: Any) -> None:
        part.removeErrorListeners()
        part.addErrorListener(Refuse())

    try:
        return Parser(setup_lexer=setup, setup_parser=setup).parse(plain_tokens(text))
    except SchemaParseError:
        raise
    except RecursionError:
        raise SchemaParseError("The schema is nested too deep") from None
    except Exception as error:  # the parser may raise anything for other texts
        raise SchemaParseError(f"Not a .proto file: {error!r}"[:300]) from None


def _kind(element: Any) -> str:
    return type(element).__name__


class ProtoBuilder:
    def __init__(self, syntax: str) -> None:
        self._proto3 = syntax == "proto3"

    def add_to_file(self, file: Any, element: Any) -> None:
        kind = _kind(element)
        if kind == "Package":
            file.package = element.name
        elif kind == "Import":
            if element.public:
                file.public_dependency.append(len(file.dependency))
            if element.weak:
                file.weak_dependency.append(len(file.dependency))
            file.dependency.append(element.name)
        elif kind == "Option":
            _option(file.options, element)
        elif kind == "Message":
            self._message(file.message_type.add(), element)
        elif kind == "Enum":
            _enum(file.enum_type.add(), element)
        elif kind == "Extension":
            self._extension(file.extension, file.message_type, element)
        elif kind == "Service":
            _service(file.service.add(), element)

    def _message(self, message: Any, tree: Any) -> None:
        message.name = tree.name
        self._elements(message, tree.elements)
        if self._proto3:
            _add_synthetic_oneofs(message)

    def _elements(self, message: Any, elements: Iterable[Any]) -> None:
        for element in elements:
            kind = _kind(element)
            if kind == "Field":
                self._field(message.field.add(), element)
            elif kind == "MapField":
                self._map(message, element)
            elif kind == "Group":
                self._group(message.field, message.nested_type, element)
            elif kind == "OneOf":
                self._oneof(message, element)
            elif kind == "Option":
                _option(message.options, element)
            elif kind == "Message":
                self._message(message.nested_type.add(), element)
            elif kind == "Enum":
                _enum(message.enum_type.add(), element)
            elif kind == "Extension":
                self._extension(message.extension, message.nested_type, element)
            elif kind == "Reserved":
                for start, end in _ranges(element.ranges, _MAX_TAG):
                    message.reserved_range.add(start=start, end=end + 1)
                message.reserved_name.extend(element.names)
            elif kind == "ExtensionRange":
                for start, end in _ranges(element.ranges, _MAX_TAG):
                    message.extension_range.add(start=start, end=end + 1)

    def _field(self, field: Any, tree: Any) -> None:
        label = None if tree.cardinality is None else tree.cardinality.value
        field.name, field.number = tree.name, tree.number
        field.label = _LABELS[label or "OPTIONAL"]
        if self._proto3 and label == "OPTIONAL":
            field.proto3_optional = True
        if tree.type in SCALARS:
            field.type = SCALARS[tree.type]
        else:
            field.type_name = tree.type
        _field_options(field, tree.options)

    def _map(self, message: Any, tree: Any) -> None:
        entry = message.nested_type.add(name="".join(map(_capitalized, tree.name.split("_"))) + "Entry")
        entry.options.map_entry = True
        for number, name, kind in ((1, "key", tree.key_type), (2, "value", tree.value_type)):
            part = entry.field.add(name=name, number=number, label=_Field.LABEL_OPTIONAL)
            if kind in SCALARS:
                part.type = SCALARS[kind]
            else:
                part.type_name = kind
        field = message.field.add(name=tree.name, number=tree.number, label=_Field.LABEL_REPEATED, type_name=entry.name)
        _field_options(field, tree.options)

    def _group(self, fields: Any, types: Any, tree: Any) -> Any:
        self._message(types.add(), tree)
        label = _LABELS[tree.cardinality.value if tree.cardinality else "OPTIONAL"]
        return fields.add(
            name=tree.name.lower(), number=tree.number, label=label, type=_Field.TYPE_GROUP, type_name=tree.name
        )

    def _oneof(self, message: Any, tree: Any) -> None:
        index = len(message.oneof_decl)
        oneof = message.oneof_decl.add(name=tree.name)
        for element in tree.elements:
            kind = _kind(element)
            if kind == "Field":
                field = message.field.add()
                self._field(field, element)
                field.oneof_index = index
            elif kind == "Group":
                self._group(message.field, message.nested_type, element).oneof_index = index
            elif kind == "Option":
                _option(oneof.options, element)

    def _extension(self, fields: Any, types: Any, tree: Any) -> None:
        for element in tree.elements:
            if _kind(element) == "Field":
                field = fields.add()
                self._field(field, element)
                field.extendee = tree.typeName
            elif _kind(element) == "Group":
                self._group(fields, types, element).extendee = tree.typeName


def _add_synthetic_oneofs(message: Any) -> None:
    """Add a oneof with an unused name for each `optional` field of proto3, like protoc."""
    taken = {field.name for field in message.field} | {oneof.name for oneof in message.oneof_decl}
    for field in message.field:
        if field.proto3_optional:
            name = field.name if field.name.startswith("_") else f"_{field.name}"
            while name in taken:
                name = f"X{name}"
            taken.add(name)
            field.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=name)


def _capitalized(word: str) -> str:
    return word[:1].upper() + word[1:]


def _enum(enum: Any, tree: Any) -> None:
    enum.name = tree.name
    for element in tree.elements:
        kind = _kind(element)
        if kind == "EnumValue":
            value = enum.value.add(name=element.name, number=element.number)
            for option in element.options:
                _option(value.options, option)
        elif kind == "Option":
            _option(enum.options, element)
        elif kind == "EnumReserved":
            for start, end in _ranges(element.ranges, _MAX_ENUM):
                enum.reserved_range.add(start=start, end=end)
            enum.reserved_name.extend(element.names)


def _service(service: Any, tree: Any) -> None:
    service.name = tree.name
    for element in tree.elements:
        if _kind(element) == "Option":
            _option(service.options, element)
        elif _kind(element) == "Method":
            method = service.method.add(
                name=element.name,
                input_type=element.input_type.type,
                output_type=element.output_type.type,
                client_streaming=element.input_type.stream or None,
                server_streaming=element.output_type.stream or None,
            )
            for option in element.elements:
                if _kind(option) == "Option":
                    _option(method.options, option)


def _ranges(texts: Iterable[str], most: int) -> Iterable[tuple[int, int]]:
    """Parse ranges; both ends are inclusive."""
    for text in texts:
        first, _, last = text.partition(" to ")
        yield int(first), int(first) if not last else most if last.strip() == "max" else int(last)


def _field_options(field: Any, options: Iterable[Any]) -> None:
    for option in options:
        if option.name == "default":
            text = field.type == _Field.TYPE_STRING
            field.default_value = unescaped(option.value) if text else _default(option.value)
        elif option.name == "json_name":
            field.json_name = unescaped(option.value)
        else:
            _option(field.options, option)


def _default(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.name if _kind(value) == "Identifier" else str(value)


def _option(options: Any, tree: Any) -> None:
    """Set a standard option, or add another one uninterpreted."""
    known = options.DESCRIPTOR.fields_by_name.get(tree.name)
    value = tree.value
    if known is not None and known.message_type is None and not known.is_repeated:
        if known.enum_type is not None:
            name = value.name if _kind(value) == "Identifier" else str(value)
            if name not in known.enum_type.values_by_name:
                raise SchemaParseError(f"The option {tree.name} has no value {name}")
            value = known.enum_type.values_by_name[name].number
        setattr(options, tree.name, unescaped(value) if isinstance(value, str) else value)
        return
    custom = options.uninterpreted_option.add()
    for part in _name_parts(tree.name):
        custom.name.add(name_part=part.strip("()"), is_extension=part.startswith("("))
    if isinstance(value, bool):
        custom.identifier_value = "true" if value else "false"
    elif isinstance(value, int):
        setattr(custom, "positive_int_value" if value >= 0 else "negative_int_value", value)
    elif isinstance(value, float):
        custom.double_value = value
    elif isinstance(value, str):
        custom.string_value = unescaped(value).encode()
    elif _kind(value) == "Identifier":
        custom.identifier_value = value.name
    else:
        custom.aggregate_value = aggregate_text(value)


def _name_parts(name: str) -> list[str]:
    """Split an option's name such as `(a.b).c.d`; parentheses enclose one part."""
    parts, depth, last = [], 0, ""
    for character in name:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "." and not depth:
            parts.append(last)
            last = ""
        else:
            last += character
    return [part for part in [*parts, last] if part]


def aggregate_text(value: Any) -> str:
    """Return a message literal on one line, without its braces."""
    kind = _kind(value)
    if kind == "MessageLiteral":
        fields = [each for each in value.elements if _kind(each) == "MessageLiteralField"]
        return ", ".join(f"{each.name}: {_literal(each.value)}" for each in fields)
    return _literal(value)


def _literal(value: Any) -> str:
    kind = _kind(value)
    if kind == "MessageLiteral":
        return f"{{ {aggregate_text(value)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value + '"'
    return str(value.name) if kind == "Identifier" else str(value)
