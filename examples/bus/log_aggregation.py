"""Log aggregation: Python's `logging` of many programs into one topic, by a handler that sends records as events."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass

from examples.bus.running import avro_event, make_topics, run, running, until
from kafkapy.bus import Bus
from kafkapy.bus.aio import Dispatcher


@avro_event("ops.Logged", "logs", "program", program="string", level="string", text="string")
@dataclass(frozen=True, kw_only=True)
class Logged:
    program: str
    level: str
    text: str


class BusHandler(logging.Handler):
    """Does not wait for the broker; what it could not send is an error of logging's. What the bus itself logs stays here."""

    def __init__(self, bus: Bus, program: str) -> None:
        super().__init__()
        self._bus = bus
        self._program = program

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.startswith("kafkapy"):
            return
        try:
            self._bus.send_soon(Logged(program=self._program, level=record.levelname, text=record.getMessage()))
        except Exception:
            self.handleError(record)


def program(broker: str, registry: str, name: str) -> None:
    log = logging.getLogger(f"examples.{name}")
    log.setLevel(logging.INFO)
    with Bus(broker, registry, application=name, auto_register=True) as bus:
        handler = BusHandler(bus, name)
        log.addHandler(handler)
        for number in range(20):
            log.info("did %d", number)
        log.error("could not do %d", 20)
        log.removeHandler(handler)


async def main(broker: str, registry: str) -> list[str]:
    make_topics(broker, "logs")
    seen: list[Logged] = []
    dispatcher = Dispatcher(broker, registry, group="log-search")

    @dispatcher.on(Logged)
    async def index(line: Logged) -> None:
        seen.append(line)

    programs = [threading.Thread(target=program, args=(broker, registry, name)) for name in ("till", "stock")]
    async with running(dispatcher):
        for each in programs:
            each.start()
        await until(lambda: len(seen) == 42)
    for each in programs:
        each.join()
    return sorted(f"{line.program}: {line.text}" for line in seen if line.level == "ERROR")


if __name__ == "__main__":
    run(main)
