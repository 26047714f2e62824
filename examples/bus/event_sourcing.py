"""Event sourcing: an account is nothing but its events; whoever reads them all has its state, and a new reader has the same."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from examples.bus.running import avro_event, make_topics, run, running, until
from kafkapy.bus.aio import Bus, Dispatcher


@avro_event("bank.Deposited", "accounts", "account", account="string", cents="long")
@dataclass(frozen=True, kw_only=True)
class Deposited:
    account: str
    cents: int


@avro_event("bank.Withdrawn", "accounts", "account", account="string", cents="long")
@dataclass(frozen=True, kw_only=True)
class Withdrawn:
    account: str
    cents: int


class Balances:
    """Of a reader that has a group of its own, and so begins with the first event."""

    def __init__(self, broker: str, registry: str, group: str) -> None:
        self.cents: dict[str, int] = defaultdict(int)
        self.lowest: dict[str, int] = defaultdict(int)
        self.events = 0
        self.dispatcher = Dispatcher(broker, registry, group=group)
        self.dispatcher.on(Deposited)(self.deposited)
        self.dispatcher.on(Withdrawn)(self.withdrawn)

    async def deposited(self, event: Deposited) -> None:
        self._change(event.account, event.cents)

    async def withdrawn(self, event: Withdrawn) -> None:
        self._change(event.account, -event.cents)

    def _change(self, account: str, cents: int) -> None:
        self.cents[account] += cents
        self.lowest[account] = min(self.lowest[account], self.cents[account])
        self.events += 1


async def main(broker: str, registry: str) -> dict[str, int]:
    make_topics(broker, "accounts")
    first = Balances(broker, registry, "balances")
    async with Bus(broker, registry, application="bank", auto_register=True) as bus, running(first.dispatcher):
        for account in ("ann", "bob", "eve"):
            for _ in range(10):
                await bus.send_many([Deposited(account=account, cents=500), Withdrawn(account=account, cents=450)])
        await until(lambda: first.events == 60)
    rebuilt = Balances(broker, registry, "balances-rebuilt")
    async with running(rebuilt.dispatcher):
        await until(lambda: rebuilt.events == 60)
    assert rebuilt.cents == first.cents
    assert min(rebuilt.lowest.values()) == 0, "an account's events came in their order"
    return dict(rebuilt.cents)


if __name__ == "__main__":
    run(main)
