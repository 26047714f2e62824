"""A schema in Protobuf: a .proto file, or a descriptor in base64, parsed with Protobuf's runtime."""

from __future__ import annotations

import base64
import binascii
from functools import cached_property
from typing import Any

from kafkapy.common.extras import need
from kafkapy.registry.compatibility.incompatibility import Incompatibility, SchemaParseError
from kafkapy.registry.formats.proto_files import ProtoFiles
from kafkapy.registry.formats.references import Documents
from kafkapy.registry.formats.strictness import Strictness

_NAME = "default.proto"


class ProtoSchema:
    """`files` has the descriptor and those of all imports.

    A stored schema may break rules of Protobuf's runtime (an undeclared type, a duplicate number): its types are then
    resolved as far as possible.
    """

    schema_type = "PROTOBUF"

    def __init__(self, text: str, references: Documents, strictness: Strictness = Strictness.NEW) -> None:
        need("registry", "google.protobuf", by="Protobuf in kafkapy.registry")
        need("registry", "proto_schema_parser", by="Protobuf in kafkapy.registry")
        from google.protobuf import descriptor_pb2, descriptor_pool

        from kafkapy.registry.formats.proto_links import linked_loosely

        self._text = text
        self._given, self._is_text = _read(text, _NAME)
        pool = descriptor_pool.DescriptorPool()
        loaded: set[str] = set()
        documents: dict[str, Any] = {}
        for proto in (*(_read(document.text, name)[0] for name, document in references.items), self._given):
            try:
                self._load(pool, proto, loaded)
            except SchemaParseError:
                if strictness is Strictness.NEW:
                    raise
                documents[proto.name] = linked_loosely(proto, documents)
            for name in loaded - documents.keys():
                documents[name] = descriptor_pb2.FileDescriptorProto()
                pool.FindFileByName(name).CopyToProto(documents[name])
        origins = {name: (document.subject, document.version) for name, document in references.items}
        self.files = ProtoFiles(documents[self._given.name], documents, origins)
        self.file = self.files.file

    def _load(self, pool: Any, proto: Any, loaded: set[str]) -> None:
        from kafkapy.schemas.known_protos import KNOWN_FOLDERS

        if proto.name in loaded:
            return
        for used in proto.dependency:
            if used not in loaded:
                if not used.startswith(KNOWN_FOLDERS):
                    raise SchemaParseError(f'No reference found for import "{used}" in {proto.name}')
                self._load(pool, _well_known(used), loaded)
        try:
            pool.Add(proto)
            pool.FindFileByName(proto.name)
        except (TypeError, KeyError) as error:
            sentence = str(error).removeprefix("Couldn't build proto file into descriptor pool: ")
            raise SchemaParseError(f"{proto.name}: {sentence}") from None
        loaded.add(proto.name)

    @cached_property
    def canonical(self) -> str:
        """Return the original text, because its comments are documentation."""
        from kafkapy.registry.formats.proto_printer import print_file

        return self._text if self._is_text else print_file(self.file)

    @cached_property
    def normalized(self) -> str:
        from kafkapy.registry.formats.proto_printer import print_file

        return print_file(_sorted(self.file))

    @cached_property
    def identity(self) -> str:
        from kafkapy.registry.formats.proto_printer import print_file

        return print_file(self.file, resolved=True)

    def formatted(self, wanted: str) -> str:
        """Return the text; `wanted` "serialized": the descriptor in base64."""
        if wanted != "serialized":
            return self.canonical
        return base64.b64encode(self.file.SerializeToString()).decode()

    def incompatibilities(self, writer: ProtoSchema) -> list[Incompatibility]:
        from kafkapy.registry.compatibility.protobuf import incompatible_changes

        return incompatible_changes(writer.files, self.files)


def _read(text: str, name: str) -> tuple[Any, bool]:
    """Return the descriptor, and whether the text was a .proto file."""
    from google.protobuf import descriptor_pb2
    from google.protobuf.message import DecodeError

    try:
        raw = base64.b64decode(text, validate=True)
        proto = descriptor_pb2.FileDescriptorProto.FromString(raw)
        proto.name = name
        return proto, False
    except (binascii.Error, ValueError, DecodeError):
        from kafkapy.registry.formats.proto_text import descriptor_of

        return descriptor_of(text, name), True


def _well_known(name: str) -> Any:
    """Return a file that can be imported without a reference. Raises SchemaParseError."""
    from kafkapy.schemas.known_protos import known_file

    try:
        return known_file(name)
    except (ImportError, KeyError):
        raise SchemaParseError(f'No reference found for import "{name}"') from None


def _sorted(file: Any) -> Any:
    """Sort fields by number and imports by name."""
    copy = type(file)()
    copy.CopyFrom(file)
    if not (copy.public_dependency or copy.weak_dependency):
        imports = sorted(copy.dependency)
        del copy.dependency[:]
        copy.dependency.extend(imports)
    waiting = list(copy.message_type)
    while waiting:
        message = waiting.pop()
        message.field.sort(key=lambda field: field.number)
        message.reserved_name.sort()
        message.reserved_range.sort(key=lambda each: each.start)
        waiting += message.nested_type
    return copy
