"""Generates the names of nodes and stores, and thereby of internal topics: the same as Java's for the same
operators."""

from __future__ import annotations

import re
from typing import Final

from kafkapy.streams.options.named import Named, validate_name

SOURCE: Final = "KSTREAM-SOURCE-"
SINK: Final = "KSTREAM-SINK-"
FILTER: Final = "KSTREAM-FILTER-"
MERGE: Final = "KSTREAM-MERGE-"
TABLE_SOURCE: Final = "KTABLE-SOURCE-"
REPARTITION_SUFFIX: Final = "-repartition"
SOURCE_SUFFIX: Final = "-source"

_GENERATED: Final = re.compile(r"KSTREAM.*-[0-9]{10}\Z", re.DOTALL)


class NameCounter:
    """Numbers nodes and stores in the order of their declaration.

    A name given by the application also uses up a number, so that later names do not change.
    """

    def __init__(self) -> None:
        self._next = 0

    def processor_name(self, prefix: str) -> str:
        """Return the next name of a node."""
        return f"{prefix}{self._take():010d}"

    def store_name(self, prefix: str) -> str:
        """Return the next name of a store."""
        return f"{prefix}STATE-STORE-{self._take():010d}"

    def _take(self) -> int:
        number = self._next
        self._next += 1
        return number


class OperatorName:
    """The name given to an operator, or None; the names of its nodes are derived from it.

    Raises:
        TopologyException: The name is not valid for a topic.
    """

    __slots__ = ("name",)

    def __init__(self, name: str | None) -> None:
        self.name = None if name is None else validate_name(name)

    @staticmethod
    def of(named: Named | None) -> OperatorName:
        """Return the name in an option."""
        return OperatorName(None if named is None else named.name)

    def or_generated(self, names: NameCounter, prefix: str) -> str:
        """Return the name, or a generated one; both use up a number."""
        generated = names.processor_name(prefix)
        return generated if self.name is None else self.name

    def with_suffix(self, suffix: str, names: NameCounter, prefix: str) -> str:
        """Return the name with a suffix, or a generated one; both use up a number.

        Raises:
            TopologyException: The name with the suffix is too long.
        """
        generated = names.processor_name(prefix)
        return generated if self.name is None else validate_name(self.name + suffix)

    def with_suffix_or(self, suffix: str, other: str) -> str:
        """Return the name with a suffix, or another name; uses up no number."""
        return other if self.name is None else self.name + suffix


def is_generated(name: str) -> bool:
    """Return whether the name of a stream's node or store has the form of a generated one."""
    return _GENERATED.match(name) is not None
