"""Records that processors leave out."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafkapy.streams.records import Window

if TYPE_CHECKING:
    from kafkapy.streams.processor import TaskContext

LOG = logging.getLogger(__name__)


def drop(context: TaskContext, reason: str) -> None:
    """Count the record that is processed as dropped, and log where it came from."""
    context.record_dropped()
    metadata = context.record_metadata()
    if metadata is None:
        LOG.warning("Skipping record %s. Topic, partition, and offset not known.", reason)
    else:
        LOG.warning("Skipping record %s. topic=[%s] partition=[%s] offset=[%s]", reason, *metadata)


def drop_out_of_order(context: TaskContext) -> None:
    """Count an update that is not the latest one of a versioned table as dropped by a join of tables."""
    context.record_dropped()
    LOG.info("Skipping out-of-order record from versioned table while performing table-table join.")


def drop_expired(context: TaskContext, timestamp: int, window: Window, close_time: int, stream_time: int) -> None:
    """Count the record that is processed as dropped from a window that is closed.

    Args:
        context: Of the processor.
        timestamp: Of the record.
        window: That it would be in.
        close_time: Windows that ended before are closed.
        stream_time: As the processor sees it.
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
