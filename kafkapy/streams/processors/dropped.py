"""Counts and logs dropped records."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafkapy.streams.records import Window

if TYPE_CHECKING:
    from kafkapy.streams.processor import TaskContext

LOG = logging.getLogger(__name__)


def drop(context: TaskContext, reason: str) -> None:
    """Count the current record as dropped, and log its topic, partition and offset."""
    context.record_dropped()
    metadata = context.record_metadata()
    if metadata is None:
        LOG.warning("Skipping record %s. Topic, partition, and offset not known.", reason)
    else:
        LOG.warning("Skipping record %s. topic=[%s] partition=[%s] offset=[%s]", reason, *metadata)


def drop_out_of_order(context: TaskContext) -> None:
    """Count an out-of-order update of a versioned table as dropped by a table-table join."""
    context.record_dropped()
    LOG.info("Skipping out-of-order record from versioned table while performing table-table join.")


def drop_expired(context: TaskContext, timestamp: int, window: Window, close_time: int, stream_time: int) -> None:
    """Count the current record as dropped, because its window is closed.

    Args:
        context: The processor's context.
        timestamp: Timestamp of the record.
        window: The closed window.
        close_time: Windows that ended before this time are closed.
        stream_time: The processor's stream time.
    """
    context.record_dropped()
    LOG.warning(
        "Skipping record for expired window. %s timestamp=[%s] window=[%s,%s] expiration=[%s] streamTime=[%s]",
        context.record_metadata(),
        timestamp,
        window.start,
        window.end,
        close_time,
        stream_time,
    )
