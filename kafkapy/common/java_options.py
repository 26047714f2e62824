"""Java's system properties (`-Dname=value` in `KAFKA_OPTS`), some of which brokers and tools read."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from typing import Final

VARIABLE: Final = "KAFKA_OPTS"


def system_properties(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the properties that `KAFKA_OPTS` sets. The last one of a name counts; `-Dname` alone sets an empty text.

    Parameters:
        environment: Where the variable is looked up.

    Raises:
        ValueError: A quote is not closed; the text says so and quotes nothing, since values may be secrets.

    Example:
        >>> system_properties({"KAFKA_OPTS": '-Xmx1G -Da=1 "-Db=two words"'})
        {'a': '1', 'b': 'two words'}
    """
    text = environment.get(VARIABLE, "")
    if "-D" not in text:
        return {}
    try:
        words = shlex.split(text)
    except ValueError:
        raise ValueError(f"{VARIABLE} has a quote that is not closed") from None
    properties = {}
    for word in words:
        if word.startswith("-D"):
            name, _, value = word[2:].partition("=")
            properties[name] = value
    return properties
