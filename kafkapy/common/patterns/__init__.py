"""Regular expressions that users write for Java, ECMA-262 or Python: `translated_pattern` has the ways in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from kafkapy.common.patterns.pattern_reader import PatternError
    from kafkapy.common.patterns.translated_pattern import (
        PatternTimeoutError,
        TranslatedPattern,
        ecma,
        java,
        java_whole,
        python_or_java,
    )

__all__ = ["PatternError", "PatternTimeoutError", "TranslatedPattern", "ecma", "java", "java_whole", "python_or_java"]

if not TYPE_CHECKING:
    _HOMES = dict.fromkeys(__all__, "translated_pattern") | {"PatternError": "pattern_reader"}
    __getattr__ = lazy_names(__name__, _HOMES)
