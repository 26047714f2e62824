"""Arguments of methods with several forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def bound(arguments: Sequence[Any], options: Mapping[str, Any], *names: str) -> list[Any]:
    """The values of names, which are given in order or by keyword; None where one is not given.

    Raises:
        TypeError: There are too many, one is given twice, or a keyword is not known.
    """
    if len(arguments) > len(names):
        raise TypeError(f"at most {len(names)} arguments are expected ({', '.join(names)}), not {len(arguments)}")
    given = dict(zip(names, arguments, strict=False))
    for name, value in options.items():
        if name not in names:
            raise TypeError(f"unexpected keyword argument {name!r}; known are {', '.join(names)}")
        if name in given:
            raise TypeError(f"multiple values for argument {name!r}")
        given[name] = value
    return [given.get(name) for name in names]
