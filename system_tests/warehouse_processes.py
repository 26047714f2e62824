"""The processes that test_warehouse.py starts and kills: a driver of the pipeline, and a reader that queries all the while.

    python -m system_tests.warehouse_processes driver CONFIG DIRECTORY
    python -m system_tests.warehouse_processes reader CONFIG DIRECTORY

The driver rolls up to the hour that DIRECTORY/cutoff names, and writes how far it is to DIRECTORY/driver.jsonl; it ends when
there is a file DIRECTORY/stop. The reader writes what it sees to DIRECTORY/reader.jsonl.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from pathlib import Path
from typing import Any

from kafkapy.warehouse.config import WarehouseConfig
from kafkapy.warehouse.session import session


def note(path: Path, **what: Any) -> None:
    with open(path, "a") as file:
        file.write(json.dumps({"at": time.time(), **what}) + "\n")


def driver(config: WarehouseConfig, directory: Path) -> None:
    from kafkapy.warehouse.rollup import roll_up
    from kafkapy.warehouse.stream import run
    from kafkapy.warehouse.warehouse import Warehouse

    log = directory / "driver.jsonl"
    warehouse = Warehouse(session(config), config)
    warehouse.start()
    note(log, started=warehouse.state.end)
    stopped = threading.Event()

    def round_() -> None:
        cutoff = (directory / "cutoff").read_text() if (directory / "cutoff").exists() else ""
        if warehouse.state.moves(cutoff):
            note(log, rolling=cutoff)
            roll_up(warehouse, cutoff, lambda step: note(log, step=step))
        note(log, rolled=cutoff, boundary=warehouse.state.boundary)
        warehouse.sweep()
        note(log, offsets=sum(end for p in warehouse.state.offsets.get("bookings", {}).values() for _, end in [p]))
        if (directory / "stop").exists():
            stopped.set()

    run(warehouse, stopped, on_batch=lambda batch: note(log, batch=batch.number), on_round=round_)


def reader(config: WarehouseConfig, directory: Path) -> None:
    """Each hour's rows, events, and a sum that says which ones they are."""
    spark = session(config)
    log = directory / "reader.jsonl"
    text = (
        "SELECT concat(ds, '-', hr) AS hour, count(*) AS rows, count(DISTINCT _event_id) AS events, "
        f"sum(id) AS ids FROM {config.database}.bookings GROUP BY 1"
    )
    while not (directory / "stop").exists():
        begin = time.time()
        try:
            found = {row.hour: [row.rows, row.events, row.ids] for row in spark.sql(text).collect()}
            note(log, hours=found, seconds=time.time() - begin)
        except Exception as error:
            note(log, error=str(error)[:2000])
        time.sleep(max(1.0, time.time() - begin))  # half of the time at most: the driver needs the machine, too


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("py4j").setLevel(logging.WARNING)
    {"driver": driver, "reader": reader}[sys.argv[1]](WarehouseConfig.load(Path(sys.argv[2])), Path(sys.argv[3]))
