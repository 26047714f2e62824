"""The process in which Spark runs tasks one after the other."""

from __future__ import annotations

import gc
from functools import cache


@cache
def spare_collections() -> None:
    """What this worker process has loaded stays out of garbage collections from now on.

    Spark's daemon runs a full collection after every task; with pyarrow loaded that takes as long as the
    decoding of half a million records.
    """
    gc.freeze()
