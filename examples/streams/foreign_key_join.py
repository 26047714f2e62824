"""Orders with the names of their customers: a table joined by a foreign key, so a new name updates all orders of the customer."""

from __future__ import annotations

from dataclasses import dataclass

from kafkapy.streams import StreamsBuilder, Topology


@dataclass(frozen=True)
class Order:
    customer: str
    cents: int


@dataclass(frozen=True)
class Customer:
    name: str


@dataclass(frozen=True)
class NamedOrder:
    name: str
    cents: int


def topology() -> Topology:
    builder = StreamsBuilder()
    customers = builder.table("customers", key=str, value=Customer)
    orders = builder.table("orders", key=str, value=Order)
    named = orders.join(
        customers,
        lambda order: order.customer,
        lambda order, customer: NamedOrder(customer.name, order.cents),
    )
    named.to_stream().to("named-orders", key=str, value=NamedOrder)
    return builder.build()
