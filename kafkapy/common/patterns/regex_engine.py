"""The package `regex`, imported only when the first pattern is compiled, since most programs have none."""

from __future__ import annotations

import regex

from kafkapy.common.patterns.pattern_reader import PatternError


def compiled(translated: str) -> regex.Pattern[str]:
    """Compile a translated pattern. Raises PatternError."""
    try:
        return regex.compile(translated, regex.VERSION1, cache_pattern=False)
    except RecursionError:
        raise PatternError("its groups are nested too deep") from None
    except (regex.error, OverflowError, ValueError) as error:
        raise PatternError(str(getattr(error, "msg", error))) from None
