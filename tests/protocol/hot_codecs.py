"""The codecs of hot versions in both forms: as the build has them, and as they are made of the schema at run time."""

from __future__ import annotations

from functools import cache
from typing import Any

from kafkapy import compiled
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.codec_modules import module_text
from kafkapy.protocol.compiled_codecs import compiled_codec
from kafkapy.protocol.decoder import compile_decoder
from kafkapy.protocol.encoder import compile_encoder
from kafkapy.protocol.framing import ApiCodec
from kafkapy.protocol.message import Message


@cache
def _functions(module: str) -> dict[str, Any]:
    """What a build compiles; as plain Python where there is none."""
    names: dict[str, Any] = {}
    exec(compile(module_text(module), f"<codecs of {module}>", "exec"), names)
    return {name: compiled_codec(module, name) if compiled.is_used() else value for name, value in names.items()}


def hot(message: type[Message], verb: str, version: int) -> Any:
    """The function `decode` or `encode`."""
    return _functions(message.__module__)[f"{verb}_{message.__name__}_{version}"]


def maker(struct: Any) -> Any:
    return _functions(struct.__module__)[f"make_{struct.name_in_code}"]


def hot_codec(api_key: ApiKey, version: int) -> ApiCodec:
    codec = ApiCodec(api_key, version)
    codec._decoder = hot(api_key.request, "decode", version)
    codec._encoder = hot(api_key.response, "encode", version)
    return codec


def schema_codec(api_key: ApiKey, version: int) -> ApiCodec:
    codec, flexible = ApiCodec(api_key, version), api_key.flexible(version)
    request: Any = api_key.request
    response: Any = api_key.response
    codec._decoder = compile_decoder(request, version, flexible)
    codec._encoder = compile_encoder(response, version, flexible)
    return codec
