"""Sales in euros: joined with a table of exchange rates of which each instance has all rows, so nothing is repartitioned."""

from __future__ import annotations

from dataclasses import dataclass

from kafkapy.streams import StreamsBuilder, Topology


@dataclass(frozen=True)
class Sale:
    currency: str
    amount: float


def topology() -> Topology:
    builder = StreamsBuilder()
    rates = builder.global_table("rates", key=str, value=float, store="rates")
    sales = builder.stream("sales", key=str, value=Sale)
    euros = sales.join(rates, lambda shop, sale: sale.currency, lambda sale, rate: round(sale.amount * rate, 2))
    euros.to("sales-in-euros", key=str, value=float)
    return builder.build()
