"""Tasks of the sink, run by Spark: what they read is in files with names that are shown when this returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafkapy.spark.offset_ranges import OffsetRange, divide, share_tasks
from kafkapy.warehouse.ingest import FILES, IngestSettings, ingest
from kafkapy.warehouse.warehouse import Warehouse, part_path

_BLOBS = "_blobs"
_LAST = "PAR1"
"""How each Parquet file ends."""


def run_tasks(
    warehouse: Warehouse, ranges: Sequence[OffsetRange], settings: IngestSettings, directory: str
) -> list[Any]:
    """Read `ranges` in as many tasks as there are cores, at least. Gives back rows of `FILES`, without contents."""
    cores = warehouse.spark.sparkContext.defaultParallelism
    tasks = share_tasks(divide(ranges, cores), cores)
    if not tasks:
        return []
    rows = warehouse.spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(ingest(settings, tasks), FILES)
    return written_files(warehouse, rows, directory)


def written_files(warehouse: Warehouse, rows: Any, directory: str) -> list[Any]:
    """`rows`: a DataFrame of `FILES`, whose tasks write into `directory`. Gives back its rows, without contents; the files are
    there then."""
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
    """The directory of an attempt at a batch, and what its tasks gave back. Values that no table can hold are in the
    quarantine. `logs`: see `IngestSettings`."""
    while True:
        directory = warehouse.attempt(number)
        rows = run_tasks(warehouse, ranges, warehouse.settings(directory, now_ms, logs), directory)
        if not warehouse.refuse(rows):
            return directory, rows
        warehouse.files.delete(directory)


def _through_the_jvm(warehouse: Warehouse, rows: Any, directory: str) -> list[Any]:
    """Only the JVM's file systems reach the storage, and Spark writes bytes as they are in one format: text. It ends each row
    with a separator, which here is what every Parquet file ends with."""
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
