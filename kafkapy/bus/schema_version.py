"""The version of an event's schema: MODEL.REVISION.ADDITION.

A new MODEL cannot read what was written with the ones before. A new REVISION can, but readers of the ones before cannot read it.
With a new ADDITION both can: old readers pass over what is new, new readers fill in what is missing.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import NamedTuple

_PATTERN = re.compile(r"(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})")


class ChangeKind(IntEnum):
    """The effect of a schema change on readers, in increasing order of severity."""

    NONE = 0
    ADDITION = 1
    REVISION = 2
    MODEL = 3


class SchemaVersion(NamedTuple):
    model: int
    revision: int
    addition: int

    @classmethod
    def parse(cls, text: str) -> SchemaVersion:
        """Parse a version. Raises ValueError."""
        found = cls.maybe(text)
        if found is None:
            raise ValueError(
                f"{text!r} is no version: it must be MODEL.REVISION.ADDITION, such as 1.2.0, MODEL from 1 on"
            )
        return found

    @classmethod
    def maybe(cls, text: str) -> SchemaVersion | None:
        """Parse a version; None if the text is none."""
        matched = _PATTERN.fullmatch(text)
        version = None if matched is None else cls(*map(int, matched.groups()))
        return version if version is not None and version.model else None

    def __str__(self) -> str:
        return f"{self.model}.{self.revision}.{self.addition}"

    def next(self, kind: ChangeKind) -> SchemaVersion:
        """The version after this one for a change of that kind."""
        if kind is ChangeKind.MODEL:
            return SchemaVersion(self.model + 1, 0, 0)
        if kind is ChangeKind.REVISION:
            return SchemaVersion(self.model, self.revision + 1, 0)
        return SchemaVersion(self.model, self.revision, self.addition + 1) if kind else self

    def claimed_since(self, before: SchemaVersion) -> ChangeKind:
        """The kind of change between `other`, a smaller version, and this one."""
        if self.model != before.model:
            return ChangeKind.MODEL
        if self.revision != before.revision:
            return ChangeKind.REVISION
        return ChangeKind.ADDITION if self.addition != before.addition else ChangeKind.NONE


FIRST_VERSION = SchemaVersion(1, 0, 0)


def subject_of(event_type: str, version: SchemaVersion) -> str:
    """The registry's subject of one MODEL: each of its versions can read what the earlier ones wrote."""
    return f"{event_type}-v{version.model}"
