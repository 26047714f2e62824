"""The partitions of an internal topic that this broker coordinates; no clock, no thread, no log.

         elected       loaded    failed    retried   resigned
-        LOADING *
LOADING  same term     ACTIVE    FAILED              -
FAILED   same term                         LOADING   -
ACTIVE   same term                                   -

* a new `Term` begins. An election or resignation with an older leader epoch than the newest known one is ignored, and
  so is the result of a load whose term is over.
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class LoadState(Enum):
    LOADING = "loading"
    """The partition is being read; clients get a retriable error."""
    FAILED = "failed"
    """It could not be read and will be retried; clients get a retriable error, because partial state would be worse."""
    ACTIVE = "active"
    """The partition is loaded completely."""


ACTIVE: Final = LoadState.ACTIVE


class Term:
    """A period of leading a partition: from an election to the next resignation."""

    __slots__ = ("epoch", "partition", "state")

    def __init__(self, partition: int, epoch: int) -> None:
        self.partition = partition
        self.epoch = epoch
        """The newest leader epoch of the term: Kafka's coordinator epoch."""
        self.state = LoadState.LOADING


class Ownership:
    """Invariant: `terms` has the partitions that this broker leads; `_epochs` the newest known leader epoch of each
    partition."""

    def __init__(self) -> None:
        self.terms: dict[int, Term] = {}
        self._epochs: dict[int, int] = {}

    def newest_epoch(self, partition: int) -> int:
        """Return the newest known epoch; -1 if there is none."""
        return self._epochs.get(partition, -1)

    @property
    def is_loading(self) -> bool:
        """Return whether any partition is not loaded yet."""
        return any(term.state is not ACTIVE for term in self.terms.values())

    def record_epoch(self, partition: int, epoch: int) -> bool:
        """Record an epoch; return False if a newer one is known."""
        newest = max(epoch, self._epochs.get(partition, epoch))
        self._epochs[partition] = newest
        return epoch == newest

    def elected(self, partition: int, epoch: int) -> Term | None:
        """Return the new term; None if this broker already leads the partition."""
        term = self.terms.get(partition)
        if term is not None:
            term.epoch = epoch
            return None
        term = self.terms[partition] = Term(partition, epoch)
        return term

    def resigned(self, partition: int) -> bool:
        """End the term; return whether there was one."""
        return self.terms.pop(partition, None) is not None

    def is_current(self, term: Term) -> bool:
        return self.terms.get(term.partition) is term

    def change(self, term: Term, state: LoadState) -> bool:
        """Record the result of a load; return False if the term is over, so it is not needed."""
        if not self.is_current(term):
            return False
        term.state = state
        return True
