"""The error for batches that an operator cannot process as columns."""

from __future__ import annotations


class NotInColumns(Exception):
    """Raised before anything is stored or forwarded: the rows of the batch are processed one by one instead."""
