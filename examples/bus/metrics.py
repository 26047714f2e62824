"""Metrics: machines send measurements; one program keeps a running mean of each machine, and warns by an event of its own."""

from __future__ import annotations

from dataclasses import dataclass

from examples.bus.running import avro_event, make_topics, run, running, until
from kafkapy.bus.aio import Bus, Dispatcher


@avro_event("ops.Measured", "measurements", "machine", machine="string", load="double")
@dataclass(frozen=True, kw_only=True)
class Measured:
    machine: str
    load: float


@avro_event("ops.Overloaded", "alarms", "machine", machine="string", mean="double")
@dataclass(frozen=True, kw_only=True)
class Overloaded:
    machine: str
    mean: float


async def main(broker: str, registry: str) -> list[str]:
    make_topics(broker, "measurements", "alarms")
    means: dict[str, tuple[int, float]] = {}
    alarms: list[str] = []
    watcher = Dispatcher(broker, registry, group="load-watcher", auto_register=True)
    pager = Dispatcher(broker, registry, group="pager")

    @watcher.on(Measured)
    async def watch(measured: Measured) -> Overloaded | None:
        count, mean = means.get(measured.machine, (0, 0.0))
        mean += (measured.load - mean) / (count + 1)
        means[measured.machine] = count + 1, mean
        return Overloaded(machine=measured.machine, mean=mean) if count + 1 == 10 and mean > 0.8 else None

    @pager.on(Overloaded)
    async def page(overloaded: Overloaded) -> None:
        alarms.append(overloaded.machine)

    async with Bus(broker, registry, application="machines", auto_register=True) as bus, running(watcher, pager):
        loads = {"db": 0.95, "web": 0.4, "cache": 0.1}
        await bus.send_many(Measured(machine=name, load=load) for _ in range(10) for name, load in loads.items())
        await until(lambda: sum(count for count, _ in means.values()) == 30 and alarms)
    return alarms


if __name__ == "__main__":
    run(main)
