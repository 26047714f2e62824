"""Runs the sink's tasks on Spark; their files have visible names when the functions return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafkapy.spark.offset_ranges import OffsetRange, divide, share_tasks
from kafkapy.warehouse.ingest import FILES, IngestSettings, ingest
from kafkapy.warehouse.warehouse import Warehouse, part_path

_BLOBS = "_blobs"
_LAST = "PAR1"
"""The last four bytes of each Parquet file."""


def run_tasks(
    warehouse: Warehouse, ranges: Sequence[OffsetRange], settings: IngestSettings, directory: str
) -> list[Any]:
    """Read `ranges` in at least as many tasks as there are cores. Return rows of `FILES`, without contents."""
    cores = warehouse.spark.sparkContext.defaultParallelism
    tasks = share_tasks(divide(ranges, cores), cores)
    if not tasks:
        return []
    rows = warehouse.spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(ingest(settings, tasks), FILES)
    return written_files(warehouse, rows, directory)


def written_files(warehouse: Warehouse, rows: Any, directory: str) -> list[Any]:
    """Run the tasks of `rows`, a DataFrame of `FILES`, which write into `directory`. Return its rows, without
    contents, when the files exist."""
    found = rows.drop("content").collect() if warehouse.files.is_local else _through_the_jvm(warehouse, rows, directory)
    for row in found:
        if row.name:
            path = part_path(directory, row)
            if not warehouse.files.is_local:
                warehouse.files.make_directory(path)
                blob = f"{directory}/{_BLOBS}/place={row.name}"
                (name,) = (name for name in warehouse.files.names(blob) if not name.startswith("_"))
                warehouse.files.rename(f"{blob}/{name}", f"{path}/{row.name}")
            else:
                warehouse.files.rename(f"{path}/_{row.name}", f"{path}/{row.name}")
    return list(found)


def run_batch(
    warehouse: Warehouse, number: int, ranges: Sequence[OffsetRange], now_ms: int, logs: Mapping[str, str]
) -> tuple[str, list[Any]]:
    """Run an attempt at a batch; return its directory and the rows of its tasks. Values that no table can hold go to
    the quarantine. `logs`: see `IngestSettings`."""
    while True:
        directory = warehouse.attempt(number)
        rows = run_tasks(warehouse, ranges, warehouse.settings(directory, now_ms, logs), directory)
        if not warehouse.refuse(rows):
            return directory, rows
        warehouse.files.delete(directory)


def _through_the_jvm(warehouse: Warehouse, rows: Any, directory: str) -> list[Any]:
    """Write the files through the JVM, for storage that only its file systems reach. Spark's only format for raw bytes
    is text, which appends a separator to each row: here the last four bytes of every Parquet file."""
    from pyspark import StorageLevel

    kept = rows.persist(StorageLevel.DISK_ONLY)
    try:
        blobs = kept.where("name <> ''").selectExpr(
            f"CAST(substring(content, 1, length(content) - {len(_LAST)}) AS STRING) AS value", "name AS place"
        )
        writer = blobs.write.partitionBy("place").option("lineSep", _LAST)
        writer.text(warehouse.files.url(f"{directory}/{_BLOBS}"))
        return list(kept.drop("content").collect())
    finally:
        kept.unpersist()
