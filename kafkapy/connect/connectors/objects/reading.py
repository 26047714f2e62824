"""Records of one object: values, and keys and headers of the objects beside it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any, BinaryIO, Final, cast

from kafkapy.connect.connectors.objects.formats import AVRO, BYTES, JSON, PARQUET
from kafkapy.connect.data.schema import OPTIONAL_BYTES_SCHEMA, OPTIONAL_STRING_SCHEMA, Schema
from kafkapy.connect.errors import DataException

EXTENSIONS: Final = {".avro": AVRO, ".parquet": PARQUET, ".json": JSON, ".txt": "String", ".bin": BYTES}
_CHUNK: Final = 64 * 1024
_MOST_BYTES: Final = 64 << 20


def read_records(
    file: BinaryIO, name: str, format: str, separator: bytes = b"\n"
) -> Iterator[tuple[Schema | None, Any]]:
    """Yield the values of a file, each with its schema.

    Args:
        file: Open for reading.
        name: Of the file; one that ends in .gz is decompressed.
        format: Avro, Parquet, Json, ByteArray or String.
        separator: After each value, for ByteArray. Default: a line feed.

    Raises:
        DataException: The file cannot be read in this format.

    Example:
        >>> import io
        >>> list(read_records(io.BytesIO(b"[1]"), "a.json", "Json"))
        [(None, [1])]
    """
    if name.endswith(".gz"):
        file = cast(BinaryIO, gzip.GzipFile(fileobj=file))
    if format == AVRO:
        from kafkapy.connect.connectors.objects.avro_format import avro_records

        yield from avro_records(file)
    elif format == PARQUET:
        from kafkapy.connect.connectors.objects.parquet_reader import parquet_records

        yield from parquet_records(file)
    else:
        for piece in _pieces(file, name, separator if format == BYTES else b"\n"):
            if format == JSON:
                if piece.strip():
                    yield None, _json(piece, name)
            elif format == BYTES:
                yield OPTIONAL_BYTES_SCHEMA, piece
            else:
                yield OPTIONAL_STRING_SCHEMA, piece.decode("utf-8", "replace")


def _json(text: bytes, name: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise DataException(f"A line of {name} is no JSON: {error}") from error


def _pieces(file: BinaryIO, name: str, separator: bytes) -> Iterator[bytes]:
    rest = b""
    while data := file.read(_CHUNK):
        *whole, rest = (rest + data).split(separator)
        yield from whole
        if len(rest) > _MOST_BYTES:
            raise DataException(f"A value of {name} is longer than {_MOST_BYTES} bytes.")
    if rest:
        yield rest
