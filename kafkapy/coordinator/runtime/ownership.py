"""Which partitions of an internal topic this broker coordinates: pure, no clock, no thread, no log.

         elected       loaded    failed    retried   resigned
-        LOADING *
LOADING  goes on       ACTIVE    FAILED              -
FAILED   goes on                           LOADING   -
ACTIVE   goes on                                     -

* a new `Term` begins. An election or resignation of an older leader epoch than the newest heard of changes nothing,
  and neither does what becomes of a load whose term is over.
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
    """All that it says is known here."""


ACTIVE: Final = LoadState.ACTIVE


class Term:
    """One time of leading a partition: from an election to the next resignation."""

    __slots__ = ("epoch", "partition", "state")

    def __init__(self, partition: int, epoch: int) -> None:
        self.partition = partition
        self.epoch = epoch
        """The newest leader epoch of the term: what Kafka calls the coordinator epoch."""
        self.state = LoadState.LOADING


class Ownership:
    """Invariant: `terms` has the partitions that are led here; `_epochs` the newest leader epoch heard of each."""

    def __init__(self) -> None:
        self.terms: dict[int, Term] = {}
        self._epochs: dict[int, int] = {}

    def newest_epoch(self, partition: int) -> int:
        """-1 if none was heard of."""
        return self._epochs.get(partition, -1)

    @property
    def is_loading(self) -> bool:
        """Is there a partition that is led here and not known yet?"""
        return any(term.state is not ACTIVE for term in self.terms.values())

    def hear_of(self, partition: int, epoch: int) -> bool:
        """False if a newer epoch has been heard of."""
        newest = max(epoch, self._epochs.get(partition, epoch))
        self._epochs[partition] = newest
        return epoch == newest

    def elected(self, partition: int, epoch: int) -> Term | None:
        """The term that begins; None if the partition has been led here already."""
        term = self.terms.get(partition)
        if term is not None:
            term.epoch = epoch
            return None
        term = self.terms[partition] = Term(partition, epoch)
        return term

    def resigned(self, partition: int) -> bool:
        """True if a term has ended."""
        return self.terms.pop(partition, None) is not None

    def is_current(self, term: Term) -> bool:
        return self.terms.get(term.partition) is term

    def change(self, term: Term, state: LoadState) -> bool:
        """Record the result of a load; return False if the term is over, so it is not needed."""
        if not self.is_current(term):
            return False
        term.state = state
        return True
