"""With kafkapy.streams, record by record; a last argument `columns`: by columns."""

from __future__ import annotations

import signal
import sys
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kafkapy.streams import Consumed, Grouped, KafkaStreams, Produced, Serdes, StreamsBuilder, TimeWindows, Topology

STRING = Serdes.string()
WINDOW_MS = 10_000


def topology(job: str, in_columns: bool) -> Topology:
    """The topology of a job: it reads GROUP-independent topics `in` and, to join, `table`."""
    builder = StreamsBuilder()
    stream: Any = builder.stream("in", Consumed.with_(STRING, STRING))
    if job == "map":
        mapped = stream.map_batches(upper, keeps_keys=True) if in_columns else stream.map_values(str.upper)
        mapped.to("out", Produced.with_(STRING, STRING))
    elif job == "join":
        table: Any = builder.table("table", Consumed.with_(STRING, STRING))
        if in_columns:
            stream = stream.in_columns()
        stream.join(table, lambda left, right: left + right).to("out", Produced.with_(STRING, STRING))
    else:
        if in_columns:
            stream = stream.in_columns()
        grouped = stream.group_by_key(Grouped.with_(STRING, STRING))
        if job == "windowed":
            grouped.windowed_by(TimeWindows.of_size_with_no_grace(WINDOW_MS)).count(store="counts")
        else:
            grouped.count(store="counts").to_stream().to("out", Produced.with_(STRING, Serdes.long()))
    return builder.build()


def upper(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pc.utf8_upper(batch.column("value"))], ["value"])


def main() -> None:
    bootstrap, group, job, guarantee, state_dir, *rest = sys.argv[1:]
    config = {
        "bootstrap.servers": bootstrap,
        "application.id": group,
        "processing.guarantee": guarantee,
        "state.dir": state_dir,
        "auto.offset.reset": "earliest",
        "commit.interval.ms": 100 if guarantee == "exactly_once_v2" else 1000,
    }
    with KafkaStreams(topology(job, rest == ["columns"]), config):
        signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    main()
