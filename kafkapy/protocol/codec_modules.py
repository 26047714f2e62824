"""Writes the codecs of hot versions as modules, for mypyc to compile with the other hot modules (`kafkapy.compiled`).

A message's schema declares which of its versions are hot: `compiled="4+"`. For each module of messages with hot
versions there is one of codecs, which exists only during a build, for compilation. Without a build the same codecs are
created at run time, like those of all other messages.

A module contains `decode_FetchRequest_17`, `encode_FetchResponse_17` and `make_FetchResponse_PartitionData`, the last
for every struct. Versions with equal codecs share one. `compiled_codecs` finds them.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TypeGuard

from kafkapy.protocol.decoder import DecoderSource
from kafkapy.protocol.encoder import EncoderSource
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import maker_text

_MODULE_HEAD = '''"""The codecs of {messages}, written by kafkapy.protocol.codec_modules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kafkapy.protocol.encoder import BYTES, unsupported
from {module} import {messages}
from kafkapy.protocol import schema
from kafkapy.protocol.number_arrays import number_array, read_numbers
from kafkapy.protocol.typed_wire import int16_at, int32_at, raw_at, text_of, utf8
from kafkapy.protocol.typed_wire import rest_of_count, rest_of_string_length, rest_of_varint
from kafkapy.protocol.wire import BYTE, Buffer, bad_count, bad_length, bad_tag, bad_uuid, check_tag_count
from kafkapy.protocol.wire import packer, skip_tagged_fields, small_packers, small_unpackers, string_length
from kafkapy.protocol.wire import tagged_fields, varint

if TYPE_CHECKING:
    from mypy_extensions import i64

new: Final = object.__new__
NEW: Final[Any] = schema.NEW
'''


def module_text(module: str) -> str:
    """Return the source of the codecs for this module of messages."""
    messages = [value for value in vars(import_module(module)).values() if _is_message_of(value, module)]
    functions: dict[str, str] = {}
    shared: list[str] = []
    constants: dict[str, str] = {}
    for message in messages:
        for name, source in _sources(message):
            constants |= source.expressions
            text = source.typed_text("NAME")
            if text in functions:
                shared.append(f"{name} = {functions[text]}")
            functions.setdefault(text, name)
        for struct in message.structs():
            constants[f"_{struct.name_in_code}"] = struct.__qualname__
    head = _MODULE_HEAD.format(module=module, messages=", ".join(message.__name__ for message in messages))
    # Classes are Any, as are their instances; methods of structs have types, because they return tuples.
    lines = [f"{name}: Final{'' if '(' in made_by else '[Any]'} = {made_by}" for name, made_by in constants.items()]
    lines = [head, *lines, ""]
    lines += [text.replace("NAME", name, 1) for text, name in functions.items()]
    lines += [maker_text(struct, typed=True) for message in messages for struct in message.structs()]
    return "\n".join([*lines, *shared, ""])


def _is_message_of(value: object, module: str) -> TypeGuard[type[Message]]:
    return isinstance(value, type) and issubclass(value, Message) and value.__module__ == module


def _sources(message: type[Message]) -> Iterator[tuple[str, DecoderSource | EncoderSource]]:
    """Yield the source of each hot version, with its name in the module."""
    for version in range(message.VERSIONS.lowest, message.VERSIONS.highest + 1):
        if message.COMPILED_VERSIONS.includes(version):
            flexible = message.FLEXIBLE_VERSIONS.includes(version)
            yield f"decode_{message.__name__}_{version}", DecoderSource(message, version, flexible, typed=True).write()
            yield f"encode_{message.__name__}_{version}", EncoderSource(message, version, flexible, typed=True).write()
