"""Avro container files, with schemas and values as AvroConverter has them."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any, BinaryIO, Final

from kafkapy.connect.connectors.objects.spool import Spool
from kafkapy.connect.connectors.required_packages import require
from kafkapy.connect.converters.avro.avro_encoding import AvroInput
from kafkapy.connect.converters.avro.avro_from_connect import AvroSchemaMaker
from kafkapy.connect.converters.avro.avro_options import AvroOptions
from kafkapy.connect.converters.avro.avro_reader import reader
from kafkapy.connect.converters.avro.avro_to_connect import ConnectSchemas
from kafkapy.connect.converters.avro.avro_type import avro_text, avro_type
from kafkapy.connect.converters.avro.avro_writer import AvroWriters
from kafkapy.connect.data.schema import Schema
from kafkapy.connect.errors import DataException

_BLOCK: Final = 64_000
"""Bytes of a block before its compression, as Avro's library in Java has them."""


def avro_options(config: Mapping[str, Any]) -> AvroOptions:
    """Return how a sink maps schemas to Avro.

    Args:
        config: Parsed.
    """
    return AvroOptions(
        connect_meta_data=config["connect.meta.data"],
        enhanced_avro_schema_support=config["enhanced.avro.schema.support"],
        allow_optional_map_keys=config["allow.optional.map.keys"],
        scrub_invalid_names=config["scrub.invalid.names"],
    )


class AvroEncoder:
    """Writes a container file. The same values are the same bytes.

    Invariant: `_block` has the values that are not in the file yet, `_count` is their number.

    Args:
        spool: Where it writes.
        schema: Of the values.
        options: How Avro's schema is made of it.
        codec: null, deflate, bzip2, snappy, zstandard or xz.
        path: Of the file; its blocks are separated by a marker that is made of it.

    Raises:
        DataException: The values have no schema, or Avro cannot have it.
    """

    def __init__(self, spool: Spool, schema: Schema | None, options: AvroOptions, codec: str, path: str) -> None:
        import fastavro
        from fastavro.write import Writer

        if schema is None:
            raise DataException("Avro files need values with a schema, for example of AvroConverter.")
        try:
            made = AvroSchemaMaker(options).convert(schema)
            self._put = AvroWriters(options).writer(schema, made)
            parsed = fastavro.parse_schema(json.loads(avro_text(made)))
            self._writer = Writer(spool, parsed, codec, sync_marker=_marker(path))
        except (DataException, fastavro.schema.SchemaParseException, ValueError) as error:
            raise DataException(f"The schema {schema.name} cannot be written as Avro: {error}") from error
        self._block, self._count = bytearray(), 0

    def prepared(self, value: Any) -> bytes:
        out = bytearray()
        self._put(out, value)
        return bytes(out)

    def append(self, prepared: bytes) -> None:
        self._block += prepared
        self._count += 1
        if len(self._block) >= _BLOCK:
            self.finish()

    def finish(self) -> None:
        if self._count:
            self._writer.write_block(SimpleNamespace(num_records=self._count, bytes_=io.BytesIO(self._block)))
            self._block, self._count = bytearray(), 0


def avro_records(file: BinaryIO) -> Iterator[tuple[Schema, Any]]:
    """Yield the values of a file, each with its schema. Raises DataException for a schema that Connect does not have."""
    require("connect-objects", "fastavro", "The format Avro")
    import fastavro

    opened = fastavro.block_reader(file)
    type = avro_type(json.loads(opened.metadata["avro.schema"]), {})
    schema = ConnectSchemas(AvroOptions(enhanced_avro_schema_support=True)).convert(type)
    read = reader(schema, type)
    for block in opened:
        source = AvroInput(block.bytes_.read())
        for _ in range(block.num_records):
            yield schema, read(source)


def _marker(path: str) -> bytes:
    return hashlib.md5(path.encode(), usedforsecurity=False).digest()
