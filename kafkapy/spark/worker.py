"""Settings of the worker processes in which Spark runs tasks and planning steps."""

from __future__ import annotations

from functools import cache

from kafkapy.runtime import garbage


@cache
def spare_collections() -> None:
    """Exclude all objects that this worker process has loaded from garbage collections.


    Spark's daemon runs a full collection after every task, and after each planning step (schema, tasks, writer,
    commit: a process each). With pyarrow loaded that takes as long as decoding half a million records.
    """
    garbage.freeze()
