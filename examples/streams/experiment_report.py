"""The report of an experiment while it runs: earnings a visitor of each variant (`examples/bus/experiment_report.py` at its end).

A purchase that comes twice counts once, by its id.
"""

from __future__ import annotations

from dataclasses import dataclass

from examples.streams.serdes import grouped, stored
from kafkapy.streams import StreamsBuilder, Topology


@dataclass(frozen=True)
class Purchase:
    visitor: str
    cents: int


@dataclass(frozen=True)
class Totals:
    visitors: int = 0
    cents: int = 0


@dataclass(frozen=True)
class Visitor:
    variant: str
    cents: int


def topology() -> Topology:
    builder = StreamsBuilder()
    variants = builder.table("variants", key=str, value=str)
    purchases = builder.table("purchases", key=str, value=Purchase)
    spent = purchases.group_by(lambda id, one: (one.visitor, one.cents), grouped(str, int)).reduce(
        lambda total, cents: total + cents,
        lambda total, cents: total - cents,
        materialized=stored("spent", str, int),
    )
    visitors = variants.left_join(
        spent, lambda variant, cents: Visitor(variant, cents or 0), materialized=stored("visitors", str, Visitor)
    )
    totals = visitors.group_by(lambda name, one: (one.variant, one.cents), grouped(str, int)).aggregate(
        Totals,
        lambda variant, cents, totals: Totals(totals.visitors + 1, totals.cents + cents),
        lambda variant, cents, totals: Totals(totals.visitors - 1, totals.cents - cents),
        materialized=stored("totals", str, Totals),
    )
    (
        totals.to_stream()
        .map_values(lambda totals: f"{totals.cents / max(1, totals.visitors) / 100:.2f} a visitor")
        .to("report", key=str, value=str)
    )
    return builder.build()
