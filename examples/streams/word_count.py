"""Counts the words of all lines. The counts are in the store `counts`, too."""

from __future__ import annotations

from examples.streams.serdes import grouped
from kafkapy.streams import StreamsBuilder, Topology


def topology() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("lines", key=str, value=str)
        .flat_map_values(lambda line: line.lower().split())
        .group_by(lambda key, word: word, grouped(str, str))
        .count(store="counts")
        .to_stream()
        .to("counts", key=str, value=int)
    )
    return builder.build()
