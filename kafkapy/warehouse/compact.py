"""Rewrites hours that have many small files, and deletes files left by killed processes."""

from __future__ import annotations

from collections.abc import Iterator

from kafkapy.warehouse.rollup import read_generations, write_generations
from kafkapy.warehouse.snapshot import HourGeneration, Rollup, State
from kafkapy.warehouse.warehouse import Warehouse

SMALL = 0.25
"""An hour with several files is rewritten if their average size is below this fraction of `file_mib`."""


def compact(warehouse: Warehouse) -> tuple[int, int]:
    """Compact; return the number of rewritten hours and of deleted directories."""
    warehouse.reload()
    state = warehouse.state
    chosen = [each for each in state.generations.values() if _is_scattered(warehouse, each)]
    made = []
    for each in chosen:
        table = state.tables[each.table]
        size = warehouse.files.size(each.path)[1]
        rows = read_generations(warehouse, table, [each])
        (fresh,) = write_generations(warehouse, table, rows, {each.hour: each.rows}, size)
        made.append(fresh._replace(dropped=each.dropped))
    if made:

        def record(now: State) -> Rollup:
            if now.rollups != state.rollups:
                raise RuntimeError("Another process has rolled up at the same time: try again")
            return Rollup(now.rollups, now.boundary, now.cutoff, tuple(made), warehouse.time.milliseconds())

        warehouse.commit_rollup(record)
    warehouse.sweep()
    for table in state.tables.values():
        warehouse.metastore.drop_versions(table)
    return len(made), _delete_orphans(warehouse)


def _is_scattered(warehouse: Warehouse, generation: HourGeneration) -> bool:
    files, size = warehouse.files.size(generation.path)
    return files > 1 and size / files < SMALL * (warehouse.config.file_mib << 20)


def _delete_orphans(warehouse: Warehouse) -> int:
    """Delete directories of past rollups that no ledger record names; a running rollup has the next number."""
    state, files = warehouse.state, warehouse.files
    known = {each.path for each in state.generations.values()} | {each.path for _, each in state.superseded}
    # A rollup's files are in one directory; older rollups have one below each hour.
    known |= {path.rsplit("/", 2)[0] for path in known}
    deleted = 0
    for table in state.tables:
        for place in (f"hours/{table}", *_hour_directories(warehouse, table)):
            for name in files.names(place):
                number = name[1:].partition("-")[0]
                is_past = name.startswith("g") and number.isdigit() and int(number) < state.rollups
                if is_past and f"{place}/{name}" not in known:
                    files.delete(f"{place}/{name}")
                    deleted += 1
    return deleted


def _hour_directories(warehouse: Warehouse, table: str) -> Iterator[str]:
    for day in warehouse.files.names(f"hours/{table}"):
        if day.startswith("ds="):
            for hour in warehouse.files.names(f"hours/{table}/{day}"):
                yield f"hours/{table}/{day}/{hour}"
