"""Messages: versioned structs with encoding and decoding."""

from __future__ import annotations

import struct
from typing import Any, ClassVar, Self

from kafkapy.protocol import wire
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.compiled_codecs import compiled_codec
from kafkapy.protocol.decoder import Decoder, compile_decoder
from kafkapy.protocol.encoder import Encoder, compile_encoder
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.explain import explain
from kafkapy.protocol.schema import Struct, Versions
from kafkapy.protocol.wire import Buffer, SchemaError


class Message(Struct):
    """A whole message: a request, a response, a record's key or value.

    `class XRequest(Message, api=ApiKey.X)` has the versions of its API. Messages that are not in `ApiKey` declare their
    own: `class X(Message, versions="0-3", flexible="2+", api_key=1)`: the existing versions, and the flexible ones
    (compact lengths and tagged fields, KIP-482). `compiled="1+"`: the versions that are used so often that a build
    compiles codecs for them (`codec_modules`).
    """

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions]
    FLEXIBLE_VERSIONS: ClassVar[Versions]
    COMPILED_VERSIONS: ClassVar[Versions]
    _decoders: ClassVar[dict[int, Decoder]]
    _encoders: ClassVar[dict[int, Encoder]]

    def __init_subclass__(
        cls,
        api: ApiKey | None = None,
        versions: str = "none",
        flexible: str = "none",
        api_key: int = -1,
        compiled: str = "none",
    ) -> None:
        if api is None:
            cls.API_KEY = api_key
            cls.VERSIONS = Versions.parse(versions)
            cls.FLEXIBLE_VERSIONS = Versions.parse(flexible)
        else:
            cls.API_KEY = int(api)
            cls.VERSIONS = Versions(api.min_version, api.max_version)
            cls.FLEXIBLE_VERSIONS = Versions.parse("none" if api.first_flexible is None else f"{api.first_flexible}+")
        cls.COMPILED_VERSIONS = Versions.parse(compiled)
        cls._decoders = {}
        cls._encoders = {}

    @classmethod
    def decode(cls, buffer: Buffer, version: int, position: int = 0) -> Self:
        """Decode the message at `position`; later bytes are ignored, as in Kafka.

        Memory use is bounded by the size of the buffer, whatever counts it contains.

        Raises:
            SchemaError: the bytes are not a valid message.
            KafkaError: UNSUPPORTED_VERSION if the class lacks the version.
        """
        return cls.decode_from(buffer, version, position)[0]

    @classmethod
    def decode_from(cls, buffer: Buffer, version: int, position: int = 0) -> tuple[Self, int]:
        """Decode as `decode`; return the message and the position after it."""
        try:
            return cls.decoder(version)(buffer, position)
        except wire.DECODE_ERRORS:
            pass  # compiled decoders don't support unusual input, nor explain errors
        try:
            return cls.plain_decoder(version)(buffer, position)
        except (struct.error, IndexError) as error:
            raise SchemaError(f"{cls.__name__} version {version} ends too early") from error

    def encode(self, version: int) -> bytes:
        """Encode the message.

        Raises:
            KafkaError: UNSUPPORTED_VERSION if the class lacks the version, or the version lacks a field that is set and
                not ignorable.
            SchemaError: a value does not fit its field.
        """
        encoded: bytes = self._encode(version, whole=True)[0]
        return encoded

    def encode_parts(self, version: int) -> list[Any]:
        """Return the message as one or more consecutive pieces of bytes.

        Records that are large, or objects in place of bytes that have `len()`, are separate pieces, and not copied.
        Errors are those of `encode`.
        """
        return self._encode(version, whole=False)

    def _encode(self, version: int, whole: bool) -> list[Any]:
        try:
            return self._pieces(self.encoder(version), whole)
        except wire.ENCODE_ERRORS:
            self._check_version(version)  # compiled encoders don't explain errors
        try:
            return self._pieces(self.plain_encoder(version), whole)
        except (struct.error, AttributeError, TypeError, UnicodeEncodeError) as error:
            raise SchemaError(explain(self, version)) from error

    def _pieces(self, encoder: Encoder, whole: bool) -> list[Any]:
        parts: list[Any] = []
        large: list[int] = []
        encoder(self, parts, large)
        return [b"".join(parts)] if whole else wire.joined(parts, large)

    @classmethod
    def decoder(cls, version: int) -> Decoder:
        """Return the version's decoder, created on first use. KafkaError (UNSUPPORTED_VERSION)."""
        decoder = cls._decoders.get(version)
        if decoder is None:
            cls._check_version(version)
            found: Decoder | None = compiled_codec(cls.__module__, f"decode_{cls.__name__}_{version}")
            decoder = found or cls.plain_decoder(version)
            cls._decoders[version] = decoder
        return decoder

    @classmethod
    def encoder(cls, version: int) -> Encoder:
        """Return the version's encoder, created on first use. KafkaError (UNSUPPORTED_VERSION)."""
        encoder = cls._encoders.get(version)
        if encoder is None:
            cls._check_version(version)
            found: Encoder | None = compiled_codec(cls.__module__, f"encode_{cls.__name__}_{version}")
            encoder = found or cls.plain_encoder(version)
            cls._encoders[version] = encoder
        return encoder

    @classmethod
    def plain_decoder(cls, version: int) -> Decoder:
        """Return a decoder that is never machine code: it is slower, but explains errors, and other threads run
        meanwhile.
        """
        return compile_decoder(cls, version, cls.FLEXIBLE_VERSIONS.includes(version))

    @classmethod
    def plain_encoder(cls, version: int) -> Encoder:
        """Return an encoder that is never machine code, see `plain_decoder`."""
        return compile_encoder(cls, version, cls.FLEXIBLE_VERSIONS.includes(version))

    def to_version_prefixed_bytes(self, version: int) -> bytes:
        """Return the version as an int16 and the message: the form of coordinator records and of consumers' group
        messages (Kafka's `MessageUtil`). Errors are those of `encode`.
        """
        return struct.pack(">h", version) + self.encode(version)

    @classmethod
    def from_version_prefixed_bytes(cls, buffer: Buffer) -> Self:
        """Decode that form. Errors are those of `decode`."""
        return cls.decode(buffer, version_prefix(buffer), 2)

    @classmethod
    def _check_version(cls, version: int) -> None:
        if not cls.VERSIONS.includes(version):
            raise KafkaError(Errors.UNSUPPORTED_VERSION, f"{cls.__name__} has no version {version}")


def version_prefix(buffer: Buffer) -> int:
    """Return the int16 at the start of a version-prefixed message; SchemaError if there is none."""
    try:
        version: int = struct.unpack_from(">h", buffer)[0]
    except struct.error as error:
        raise SchemaError("no version: fewer than 2 bytes") from error
    return version
