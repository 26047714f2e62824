"""Commit log: a key-value store whose changes go to a compacted topic first; after a loss of memory it is read from there."""

from __future__ import annotations

from dataclasses import dataclass

from examples.bus.running import avro_event, make_topics, run, running, until
from kafkapy.bus.aio import Bus, Dispatcher


@avro_event("store.Changed", "store-changes", "key", key="string", value=["null", "string"])
@dataclass(frozen=True, kw_only=True)
class Changed:
    key: str
    value: str | None


class Store:
    """A change is in the log before it is seen: `put` returns when it is safe."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self.values: dict[str, str] = {}

    async def put(self, key: str, value: str | None) -> None:
        await self._bus.send(Changed(key=key, value=value))
        self.apply(key, value)

    def apply(self, key: str, value: str | None) -> None:
        if value is None:
            self.values.pop(key, None)
        else:
            self.values[key] = value


async def main(broker: str, registry: str) -> dict[str, str]:
    make_topics(broker, "store-changes", cleanup_policy="compact")
    async with Bus(broker, registry, application="store", auto_register=True) as bus:
        store = Store(bus)
        for number in range(30):
            await store.put(f"k{number % 5}", f"v{number}")
        await store.put("k4", None)
        recovered = Store(bus)
        read = 0
        dispatcher = Dispatcher(broker, registry, group="store-recovery")

        @dispatcher.on(Changed)
        async def apply(change: Changed) -> None:
            nonlocal read
            recovered.apply(change.key, change.value)
            read += 1

        async with running(dispatcher):
            await until(lambda: read == 31)
    assert recovered.values == store.values
    return recovered.values


if __name__ == "__main__":
    run(main)
