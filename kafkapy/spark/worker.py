"""The processes in which Spark runs tasks, or steps of planning, one after the other."""

from __future__ import annotations

from functools import cache

from kafkapy.runtime import garbage


@cache
def spare_collections() -> None:
    """What this worker process has loaded stays out of garbage collections from now on.

    Spark's daemon runs a full collection after every task, and after each step of planning (schema, tasks, writer, commit: a
    process each). With pyarrow loaded that takes 20 to 60 ms, as long as the decoding of half a million records.
    """
    garbage.freeze()
