"""Options of a branch of a stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from kafkapy.streams.options.checks import required

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Branched(Generic[K, V]):
    """A branch's name, and the function to apply to it. Immutable.

    Attributes:
        name: Suffix of its node's name; None: its number.
        function: Returns the stream for the split's result, or None.
        consumer: Called with the branch, which is then not part of the split's result.

    Example:
        >>> Branched.as_("large").name
        'large'
    """

    name: str | None = None
    function: Callable[[Any], Any] | None = None
    consumer: Callable[[Any], Any] | None = None

    @staticmethod
    def as_(name: str) -> Branched[Any, Any]:
        """A branch with a name.

        Args:
            name: Name of the node, and of what belongs to it.
        """
        return Branched(required(name, "name"))

    @staticmethod
    def with_consumer(chain: Callable[[Any], Any], name: str | None = None) -> Branched[Any, Any]:
        """Pass the branch to a function.

        Args:
            chain: Called with the branch, a `KStream`.
            name: See the attributes.
        """
        return Branched(name, consumer=required(chain, "chain"))

    @staticmethod
    def with_function(chain: Callable[[Any], Any], name: str | None = None) -> Branched[Any, Any]:
        """Transform the branch with a function.

        Args:
            chain: Takes the branch, a `KStream`, and returns a `KStream`, or None to omit it.
            name: See the attributes.
        """
        return Branched(name, function=required(chain, "chain"))

    def with_name(self, name: str) -> Branched[K, V]:
        """Return a copy with another name.

        Args:
            name: Name of the node. None: a generated one.
        """
        return replace(self, name=required(name, "name"))
