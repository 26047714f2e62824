"""Names of nodes, stores and topics are Java's: topologies with what Apache Kafka Streams 3.9.1 makes of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.streams.dsl.declared import Declared

CASES: dict[str, Any] = json.loads((Path(__file__).parent / "java_topologies.json").read_text())


def parts(description: str) -> dict[str, Any]:
    """Nodes by name; their order, and that within lists, is not compared."""
    found = {}
    sub_topology = ""
    for line in description.splitlines():
        if "Sub-topology" in line:
            sub_topology = line.strip()
        elif node := re.match(r"\s+(Source|Processor|Sink): (\S+) \((.*)\)$", line):
            kind, name, rest = node.groups()
            rest = "extractor class" if rest.startswith("extractor class") else rest
            links: list[frozenset[str]] = []
            found[name] = (sub_topology, kind, frozenset(re.split(r"[\[\], ]+", rest)), links)
        elif link := re.match(r"\s+(-->|<--) (.*)$", line):
            links.append(frozenset([link[1], *link[2].split(", ")]))
    return found


@pytest.mark.parametrize("name", CASES)
def test_as_in_java(name: str) -> None:
    case = CASES[name]
    declared = Declared(case)
    topology = declared.topology()
    assert parts(str(topology.describe())) == parts(case["description"])
    topics = {
        topic: {"kind": made.kind, "partitions": made.partitions, "config": dict(made.config)}
        for topic, made in topology.internal_topics(declared.config).items()
    }
    assert topics == case["internal_topics"]
