"""Topologies that the tests run by name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from kafkapy.streams import Consumed, Produced, Serdes, StreamsBuilder, Topology

string = Serdes.string()
builder = StreamsBuilder()
builder.stream("in", Consumed.with_(string, string)).to("out", Produced.with_(string, string))
nothing = 42


def topology(configs: Mapping[str, Any]) -> Topology:
    """Writes values with the id of the process that has handled them; "die:PATH" ends that process, the first time."""
    made = StreamsBuilder()

    def handled(value: str) -> str:
        if value.startswith("die:"):
            mark = value.removeprefix("die:")
            if not os.path.exists(mark):
                with open(mark, "w"):
                    os._exit(9)
        return f"{value} {os.getpid()}"

    name = configs["application.id"]
    stream = made.stream(f"{name}-in", Consumed.with_(string, string))
    stream.map_values(handled).to(f"{name}-out", Produced.with_(string, string))
    return made.build()


def plain() -> StreamsBuilder:
    return builder


def broken() -> Topology:
    raise RuntimeError("no luck")
