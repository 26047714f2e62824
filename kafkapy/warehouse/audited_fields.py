"""Extracts ids and times of events, for the audit of topics whose events have them in their values.

The sink's code decodes the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from kafkapy.warehouse import envelope
from kafkapy.warehouse.decoding import value_decoder
from kafkapy.warehouse.ingest import TopicSettings

AUDITED_FIELDS = "partition int, offset long, key binary, id string, timestamp timestamp"
_TYPES = [pa.int32(), pa.int64(), pa.binary(), pa.string(), pa.timestamp("us", "UTC")]


def audited_fields(
    registry: str, topic: TopicSettings
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for `mapInArrow` that sets `timestamp` to the event's time; undecodable records keep their
    own.


    `registry`: the client's configuration, as JSON.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            ids, times = _found(batch, registry, topic)
            columns = [batch.column(name) for name in ("partition", "offset", "key")]
            arrays = [each.cast(type) for each, type in zip([*columns, ids, times], _TYPES, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names=[each.split()[0] for each in AUDITED_FIELDS.split(", ")])

    return run


def _found(batch: pa.RecordBatch, registry: str, topic: TopicSettings) -> tuple[pa.Array, pa.Array]:
    values, fields = batch.column("value"), topic.fields
    headers: Any = envelope.id_texts(envelope.header_values(batch.column("headers"), topic.id_header)).to_pylist()
    ids = np.array([None] * len(batch) if fields.id else headers, object)
    times = batch.column("timestamp").cast(pa.int64()).to_numpy().copy()
    decoder = value_decoder(registry, topic.schema, topic.schema_type)
    schemas = decoder.ids(values)
    for schema in np.unique(schemas[schemas >= 0]).tolist():
        chosen = np.flatnonzero(schemas == schema)
        reader = decoder.of(schema)
        if isinstance(reader, str) or fields.objection(reader.type) is not None:
            continue
        found = reader.read(values.take(pa.array(chosen)))
        places = chosen[found.places]
        if fields.id:
            ids[places] = fields.ids(found.rows).to_pylist()
        if fields.time:
            own, reasons = fields.times(found.rows)
            good = np.setdiff1d(np.arange(len(places)), list(reasons))
            times[places[good]] = own[good]
    return pa.array(ids, pa.string()), pa.array(times, pa.timestamp("us", "UTC"))
