"""Cache invalidation: each server has a cache of its own, and hears of every change, since each is a group of its own."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from examples.bus.running import avro_event, make_topics, run, running, until
from kafkapy.bus.aio import Bus, Dispatcher


@avro_event("shop.PriceChanged", "price-changes", "article", article="string")
@dataclass(frozen=True, kw_only=True)
class PriceChanged:
    article: str


class Server:
    def __init__(self, broker: str, registry: str, prices: dict[str, int]) -> None:
        self.prices = prices
        self.cache: dict[str, int] = {}
        self.heard = 0
        self.dispatcher = Dispatcher(broker, registry, group=f"cache-{uuid.uuid4().hex[:8]}")
        self.dispatcher.on(PriceChanged)(self.forget)

    async def forget(self, change: PriceChanged) -> None:
        self.cache.pop(change.article, None)
        self.heard += 1

    def price(self, article: str) -> int:
        if article not in self.cache:
            self.cache[article] = self.prices[article]
        return self.cache[article]


async def main(broker: str, registry: str) -> list[int]:
    make_topics(broker, "price-changes")
    prices = {"tea": 3, "cake": 5}
    servers = [Server(broker, registry, prices) for _ in range(3)]
    assert [server.price("tea") for server in servers] == [3, 3, 3]
    async with (
        Bus(broker, registry, application="shop", auto_register=True) as bus,
        running(*(server.dispatcher for server in servers)),
    ):
        prices["tea"] = 4
        await bus.send(PriceChanged(article="tea"))
        await until(lambda: all(server.heard == 1 for server in servers))
    return [server.price("tea") for server in servers]


if __name__ == "__main__":
    run(main)
