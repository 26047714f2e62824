"""An experiment's report: who saw which variant, who bought, and how the two compare. An event that comes twice counts once, by
its id."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from examples.bus.running import avro_event, make_topics, run, running, until
from kafkapy.bus import Envelope
from kafkapy.bus.aio import Bus, Dispatcher


@avro_event("trial.Assigned", "trial", "visitor", visitor="string", variant="string")
@dataclass(frozen=True, kw_only=True)
class Assigned:
    visitor: str
    variant: str


@avro_event("trial.Bought", "trial", "visitor", visitor="string", cents="long")
@dataclass(frozen=True, kw_only=True)
class Bought:
    visitor: str
    cents: int


async def main(broker: str, registry: str) -> dict[str, str]:
    make_topics(broker, "trial")
    variants: dict[str, str] = {}
    cents: dict[str, int] = defaultdict(int)
    seen: set[str] = set()
    came = 0
    dispatcher = Dispatcher(broker, registry, group="trial-report")

    @dispatcher.on(Assigned)
    async def assign(event: Assigned, envelope: Envelope) -> None:
        variants[event.visitor] = event.variant
        count(envelope)

    @dispatcher.on(Bought)
    async def buy(event: Bought, envelope: Envelope) -> None:
        if envelope.event_id not in seen:
            cents[variants[event.visitor]] += event.cents  # the same key, so it was assigned before
        count(envelope)

    def count(envelope: Envelope) -> None:
        nonlocal came
        seen.add(envelope.event_id)
        came += 1

    async with Bus(broker, registry, application="trial", auto_register=True) as bus, running(dispatcher):
        for number in range(40):
            variant = "ab"[number % 2]
            await bus.send(Assigned(visitor=f"v{number}", variant=variant))
            if number % (4 if variant == "a" else 5) == 0:
                for _ in range(2):  # a client that was not sure, and has sent it again with its id
                    await bus.send(Bought(visitor=f"v{number}", cents=1000), event_id=f"buy-{number}")
        await until(lambda: came == 40 + 2 * 14)
    shown = {variant: list(variants.values()).count(variant) for variant in "ab"}
    return {variant: f"{cents[variant] / shown[variant] / 100:.2f} a visitor" for variant in "ab"}


if __name__ == "__main__":
    run(main)
