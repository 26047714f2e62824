"""Payments over publish-subscribe: booking, payment and receipt know nothing of each other. What is charged is charged once,
since the outcome and the offsets go into one transaction; a card that is refused for good becomes a dead letter."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from examples.bus.running import avro_event, make_topics, run, running, until
from kafkapy.bus import PermanentFailure, Retries
from kafkapy.bus.aio import Bus, Dispatcher


@avro_event("pay.Ordered", "orders", "order", order="string", card="string", cents="long")
@dataclass(frozen=True, kw_only=True)
class Ordered:
    order: str
    card: str
    cents: int


@avro_event("pay.Charged", "charges", "order", order="string", cents="long")
@dataclass(frozen=True, kw_only=True)
class Charged:
    order: str
    cents: int


async def main(broker: str, registry: str) -> dict[str, int]:
    make_topics(broker, "orders", "charges", "orders.dead-letter.payments")
    receipts: Counter[str] = Counter()
    busy = {f"o{number}" for number in range(0, 20, 4)}
    payments = Dispatcher(
        broker,
        registry,
        group="payments",
        transactional_id="payments-1",
        auto_register=True,
        retries=Retries(attempts=3, first_s=0.01),
    )
    mail = Dispatcher(broker, registry, group="receipts")

    @payments.on(Ordered)
    async def charge(order: Ordered) -> Charged:
        if order.order in busy:
            busy.discard(order.order)
            raise ConnectionError("the bank is busy")  # it is tried again
        if order.card == "expired":
            raise PermanentFailure(f"the card of {order.order} has expired")
        return Charged(order=order.order, cents=order.cents)

    @mail.on(Charged)
    async def receipt(charged: Charged) -> None:
        receipts[charged.order] += 1

    async with Bus(broker, registry, application="shop", auto_register=True) as bus, running(payments, mail):
        cards = ["expired" if number == 7 else "good" for number in range(20)]
        await bus.send_many(Ordered(order=f"o{n}", card=card, cents=100 * n) for n, card in enumerate(cards))
        await until(lambda: len(receipts) == 19 and payments.metrics.dead_lettered == 1)
    assert set(receipts.values()) == {1}
    return {"charged": len(receipts), "dead letters": payments.metrics.dead_lettered}


if __name__ == "__main__":
    run(main)
