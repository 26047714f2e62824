"""Settings that decide how a format maps Connect's data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self


class FormatOptions:
    """Base of dataclasses whose fields are settings of a converter, with `_` for `.` in their names."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @classmethod
    def of(cls, parsed: Mapping[str, Any]) -> Self:
        """Return the options of parsed settings, which may have others, too.

        Args:
            parsed: Those of a converter or a connector.
        """
        return cls(**{name: parsed[name.replace("_", ".")] for name in cls.__dataclass_fields__})
