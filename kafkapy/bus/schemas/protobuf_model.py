"""Protobuf's messages as a model. protoc (of grpcio-tools) compiles them; only files that come with Protobuf can be
imported."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from kafkapy.bus.schemas.model import EventModel, ModelEnum, ModelField, ModelRecord
from kafkapy.bus.schemas.repository import RepositoryError
from kafkapy.common.extras import need

_FLOATS, _INTS = {1, 2}, {3, 4, 5, 6, 7, 13, 15, 16, 17, 18}
_BOOL, _STRING, _MESSAGE, _BYTES, _ENUM = 8, 9, 11, 12, 14
_SCALARS = "double float int64 uint64 int32 fixed64 fixed32 bool string group message bytes uint32 enum"
_TYPE_NAMES = dict(enumerate(f"{_SCALARS} sfixed32 sfixed64 sint32 sint64".split(), start=1))
_KNOWN = {".google.protobuf.Timestamp": "datetime", ".google.protobuf.Duration": "timedelta"}
_REQUIRED, _REPEATED = 2, 3


def read(text: str, name: str | None) -> EventModel:
    """The model of a Protobuf file. Raises RepositoryError."""
    compiled = compile_text(text)
    from google.protobuf import descriptor_pb2

    file = descriptor_pb2.FileDescriptorSet.FromString(compiled).file[-1]
    if not file.message_type:
        raise RepositoryError("The Protobuf file has no message")
    prefix = f"{file.package}." if file.package else ""
    reader = _ProtobufReader(file)
    names = [prefix + message.name for message in file.message_type]
    root = name if name is not None else names[0]
    if root not in names:
        raise RepositoryError(
            f"The Protobuf file has the messages {', '.join(names)}, and must have {root} as its folder"
        )
    for message in file.message_type:
        reader.message(message, prefix, "")
    found = next(record for record in reader.records if record.schema_name == root)
    return EventModel(found, tuple(reader.records), tuple(reader.enums), compiled)


@lru_cache(100)
def compile_text(text: str) -> bytes:
    """Compile a file to a serialized FileDescriptorSet, imports first. Raises RepositoryError with protoc's message."""
    need("bus", "grpc_tools", "google.protobuf", by="Protobuf")
    with tempfile.TemporaryDirectory() as directory:
        source, result, complaint = (Path(directory) / name for name in ("event.proto", "set.bin", "complaint"))
        source.write_text(text, "utf-8")
        arguments = [
            f"-I{directory}",
            f"-I{files('grpc_tools') / '_proto'}",
            f"--descriptor_set_out={result}",
            "--include_imports",
            str(source),
        ]
        status = _run(arguments, complaint)
        if status:
            said = complaint.read_text("utf-8", "replace").replace(f"{directory}/", "").strip()
            raise RepositoryError(f"This is no Protobuf file: {said}")
        return result.read_bytes()


def _run(arguments: list[str], complaint: Path) -> int:
    """Run protoc in a separate process, since it writes to stderr."""
    command = [sys.executable, "-m", "grpc_tools.protoc", *arguments]
    with complaint.open("wb") as said:
        return subprocess.run(command, stdout=said, stderr=said, check=False).returncode


class _ProtobufReader:
    def __init__(self, file: Any) -> None:
        self.records: list[ModelRecord] = []
        self.enums: list[ModelEnum] = []
        self._proto3 = file.syntax == "proto3"
        prefix = f"{file.package}." if file.package else ""
        for enum in file.enum_type:
            self._enum(enum, "")
        self._names: dict[str, str] = {f".{prefix}{enum.name}": enum.name for enum in file.enum_type}
        for message in file.message_type:
            self._declare(message, f".{prefix}", "")

    def _declare(self, message: Any, prefix: str, outer: str) -> None:
        self._names[prefix + message.name] = outer + message.name
        for enum in message.enum_type:
            self._names[f"{prefix}{message.name}.{enum.name}"] = outer + message.name + enum.name
            self._enum(enum, outer + message.name)
        for nested in message.nested_type:
            self._declare(nested, f"{prefix}{message.name}.", outer + message.name)

    def _enum(self, enum: Any, outer: str) -> None:
        self.enums.append(ModelEnum(outer + enum.name, tuple(value.name for value in enum.value)))

    def message(self, message: Any, prefix: str, outer: str) -> None:
        maps = {f".{prefix}{message.name}.{each.name}": each for each in message.nested_type if each.options.map_entry}
        for nested in message.nested_type:
            if not nested.options.map_entry:
                self.message(nested, f"{prefix}{message.name}.", outer + message.name)
        fields = tuple(self._field(field, maps) for field in message.field)
        self.records.append(ModelRecord(outer + message.name, prefix + message.name, fields))

    def _field(self, field: Any, maps: dict[str, Any]) -> ModelField:
        doc = f"number {field.number}"
        written = self._written(field)
        if field.type_name in maps:
            key, value = maps[field.type_name].field
            declared = f"map<{self._written(key)}, {self._written(value)}>"
            kind = f"dict[{self._type(key)}, {self._type(value)}]"
            return ModelField(field.name, kind, "field(default_factory=dict)", doc, declared)
        kind = self._type(field)
        if field.label == _REPEATED:
            kind = f"list[{kind}]"
            return ModelField(field.name, kind, "field(default_factory=list)", doc, f"repeated {written}")
        if field.label == _REQUIRED:
            written = f"required {written}"
        elif field.proto3_optional or not self._proto3:
            written = f"optional {written}"
        optional = field.proto3_optional or field.HasField("oneof_index") or field.type == _MESSAGE or not self._proto3
        if optional and field.label != _REQUIRED:
            return ModelField(field.name, f"{kind} | None", "None", doc, written)
        return ModelField(field.name, kind, self._default(field, kind), doc, written)

    def _default(self, field: Any, kind: str) -> str | None:
        if field.label == _REQUIRED:
            return None
        if field.type == _ENUM:
            enum = next(each for each in self.enums if each.name == kind)
            return f"{kind}.{enum.symbols[0]}"
        return {"float": "0.0", "int": "0", "bool": "False", "str": '""', "bytes": 'b""'}[kind]

    def _written(self, field: Any) -> str:
        """The type's name in Protobuf."""
        is_named = field.type in (_MESSAGE, _ENUM)
        return str(field.type_name).lstrip(".") if is_named else str(_TYPE_NAMES[field.type])

    def _type(self, field: Any) -> str:
        if field.type in (_MESSAGE, _ENUM):
            found = _KNOWN.get(field.type_name) or self._names.get(field.type_name)
            if found is None:
                raise RepositoryError(f"The field {field.name} is a {field.type_name[1:]}, which is not supported")
            return found
        if field.type in _FLOATS:
            return "float"
        if field.type in _INTS:
            return "int"
        return {_BOOL: "bool", _STRING: "str", _BYTES: "bytes"}[field.type]
