"""Regular expressions in the syntax of Java, ECMA-262 or Python; see `translated_pattern`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from kafkapy.common.patterns.pattern_reader import PatternError as PatternError
    from kafkapy.common.patterns.translated_pattern import PatternTimeoutError as PatternTimeoutError
    from kafkapy.common.patterns.translated_pattern import TranslatedPattern as TranslatedPattern
    from kafkapy.common.patterns.translated_pattern import ecma as ecma
    from kafkapy.common.patterns.translated_pattern import java as java
    from kafkapy.common.patterns.translated_pattern import java_whole as java_whole
    from kafkapy.common.patterns.translated_pattern import python_or_java as python_or_java
else:
    __all__, __getattr__ = lazy_names(
        __name__,
        {
            "pattern_reader": "PatternError",
            "translated_pattern": "PatternTimeoutError TranslatedPattern ecma java java_whole python_or_java",
        },
    )
