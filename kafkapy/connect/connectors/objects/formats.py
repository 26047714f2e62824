"""Formats of files: `format.class`, `keys.format.class`, `headers.format.class`."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.connectors.objects.spool import Spool
from kafkapy.connect.connectors.required_packages import require
from kafkapy.connect.converters.json_writer import JsonDataWriter
from kafkapy.connect.data.java_str import java_str
from kafkapy.connect.data.schema import Schema
from kafkapy.connect.errors import DataException

AVRO, PARQUET, JSON, BYTES, STRING = "Avro", "Parquet", "Json", "ByteArray", "String"
_NAMES: Final = (AVRO, PARQUET, JSON, BYTES, STRING)


class Encoder(Protocol):
    """Writes the values of one file."""

    def prepared(self, value: Any) -> Any:
        """Return a value as `append` takes it. Raises DataException; the file is unchanged."""
        ...

    def append(self, prepared: Any) -> None: ...
    def finish(self) -> None:
        """Write what is still in memory, and the end of the file."""
        ...


@dataclass(frozen=True)
class FileFormat:
    """A format with its settings.

    Attributes:
        extension: Of the files, with the dot.
        encoder: Makes the encoder of a file, from where it writes to, the schema and the name of the file.
        needs_schema: Whether values without a schema cannot be written.
    """

    extension: str
    encoder: Callable[[Spool, Schema | None, str], Encoder]
    needs_schema: bool = False


def format_name(name: str) -> str:
    """Return the short name of a format.

    Args:
        name: Short, or Confluent's class.

    Raises:
        ConfigException: It is neither.

    Example:
        >>> format_name("io.confluent.connect.s3.format.parquet.ParquetFormat")
        'Parquet'
    """
    short = name.rpartition(".")[2].removesuffix("Format")
    is_known = "." not in name or name.startswith("io.confluent.connect.")
    for known in _NAMES:
        if is_known and short.lower() == known.lower():
            return known
    raise ConfigException.invalid("format.class", name, f"Expected one of {', '.join(_NAMES)}.")


def make_format(name: str, config: Mapping[str, Any]) -> FileFormat:
    """Return the format of a name.

    Args:
        name: Short, or Confluent's class.
        config: The sink's, parsed.

    Raises:
        ConfigException: There is no such format.
        ConnectException: It needs a package that is missing.
    """
    match format_name(name):
        case "Avro":
            require("connect-objects", "fastavro", "The format Avro")
            from kafkapy.connect.connectors.objects.avro_format import AvroEncoder, avro_options

            options, codec = avro_options(config), config["avro.codec"]
            return FileFormat(
                ".avro", lambda spool, schema, path: AvroEncoder(spool, schema, options, codec, path), True
            )
        case "Parquet":
            require("connect-objects", "pyarrow", "The format Parquet")
            from kafkapy.connect.connectors.objects.parquet_format import ParquetEncoder

            codec = config["parquet.codec"]
            extension = {"snappy": ".snappy", "gzip": ".gz", "none": ""}.get(codec, f".{codec}") + ".parquet"
            return FileFormat(extension, lambda spool, schema, _: ParquetEncoder(spool, schema, codec), True)
        case "Json":
            writer = JsonDataWriter(config["json.decimal.format"] == "NUMERIC", True)
            return _lines(".json", config, lambda schema, value: f"{writer.text(schema, value)}\n".encode())
        case "String":
            return _lines(".txt", config, lambda schema, value: f"{java_str(value)}\n".encode("utf-8", "replace"))
        case _:
            separator = config["format.bytearray.separator"]
            end = b"\n" if separator is None else separator.encode()
            return _lines(config["format.bytearray.extension"], config, lambda schema, value: _bytes_of(value) + end)


def _bytes_of(value: Any) -> bytes:
    if value is None:
        return b""
    if not isinstance(value, bytes):
        raise DataException("The format ByteArray needs bytes: set the converter to ByteArrayConverter.")
    return value


def _lines(extension: str, config: Mapping[str, Any], encode: Callable[[Schema | None, Any], bytes]) -> FileFormat:
    level = config["s3.compression.level"] if config["s3.compression.type"] == "gzip" else None
    suffix = extension if level is None else f"{extension}.gz"
    return FileFormat(suffix, lambda spool, schema, _: LinesEncoder(spool, schema, encode, level))


class LinesEncoder:
    """Writes one piece of bytes for each value.

    Args:
        spool: Where it writes.
        schema: Of the values.
        encode: Returns the bytes of a value.
        level: Of gzip, -1 for gzip's own. None: not compressed.
    """

    def __init__(
        self, spool: Spool, schema: Schema | None, encode: Callable[[Schema | None, Any], bytes], level: int | None
    ) -> None:
        self._schema, self._encode = schema, encode
        self._gzip = None
        self._write: Callable[[bytes], int] = spool.write
        if level is not None:
            # Neither name nor time, so that the same records are the same bytes.
            self._gzip = gzip.GzipFile("", "wb", 9 if level < 0 else level, cast(Any, spool), 0)
            self._write = self._gzip.write

    def prepared(self, value: Any) -> bytes:
        return self._encode(self._schema, value)

    def append(self, prepared: bytes) -> None:
        self._write(prepared)

    def finish(self) -> None:
        if self._gzip is not None:
            self._gzip.close()
