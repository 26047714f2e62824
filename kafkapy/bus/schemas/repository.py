"""The files of a schema repository.

    schemas/
      shop.BookingCreated/        the event's full name, which the schema inside has, too
        1.0.0.avsc                versions; what was published never changes
        1.0.1.avsc
        next.avsc                 what is being worked at; `bump` makes the next version of it

The suffix says the kind: .avsc (Avro), .proto (Protobuf), .json (JSON Schema), .thrift (Thrift). An event keeps its kind. Each
schema is complete in itself: references to other files are not supported.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from kafkapy.bus.errors import BusError
from kafkapy.bus.schema_version import ChangeKind, SchemaVersion

KINDS = {".avsc": "AVRO", ".proto": "PROTOBUF", ".json": "JSON", ".thrift": "THRIFT"}
NEXT = "next"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
_LARGEST = 1 << 20
_NONE_YET = SchemaVersion(0, 0, 0)


class RepositoryError(BusError):
    """A folder or file of the repository is wrong; the message names it."""


class SchemaFile(NamedTuple):
    """A schema file. `version` is None for `next`, which is in progress."""

    path: Path
    version: SchemaVersion | None
    text: str


class EventSchemas(NamedTuple):
    """All versions of one event, oldest first."""

    name: str
    kind: str
    directory: Path
    versions: tuple[SchemaFile, ...]
    next: SchemaFile | None

    @property
    def latest(self) -> SchemaFile | None:
        return self.versions[-1] if self.versions else None

    def version(self, version: SchemaVersion) -> SchemaFile:
        """Read an event's folder. Raises RepositoryError."""
        for found in self.versions:
            if found.version == version:
                return found
        known = ", ".join(str(each.version) for each in self.versions)
        raise RepositoryError(f"{self.name} has no version {version}; it has {known or 'none'}")

    def path_of(self, version: SchemaVersion) -> Path:
        suffix = next(suffix for suffix, kind in KINDS.items() if kind == self.kind)
        return self.directory / f"{version}{suffix}"


def package_version(events: Iterable[EventSchemas]) -> str:
    """Version of a package with the classes of all events: the numbers of MODELs, REVISIONs and ADDITIONs. It grows
    with each new version, so that pip prefers the newer package."""
    kinds: Counter[ChangeKind] = Counter()
    for event in events:
        before = _NONE_YET
        for file in event.versions:
            assert file.version is not None
            kinds[file.version.claimed_since(before)] += 1
            before = file.version
    return f"{kinds[ChangeKind.MODEL]}.{kinds[ChangeKind.REVISION]}.{kinds[ChangeKind.ADDITION]}"


def load(directory: Path) -> dict[str, EventSchemas]:
    """All events by name. Raises RepositoryError."""
    if not directory.is_dir():
        raise RepositoryError(
            f"{directory} is no folder: a schema repository is a folder with one folder for each event"
        )
    found = {}
    for each in sorted(directory.iterdir()):
        if each.is_dir() and not each.name.startswith("."):
            event = _load_event(each)
            found[event.name] = event
    if not found:
        raise RepositoryError(
            f"{directory} has no events: make a folder with the event's full name, and next.avsc in it"
        )
    return found


def _load_event(directory: Path) -> EventSchemas:
    if not _NAME.fullmatch(directory.name):
        raise RepositoryError(f"{directory} is not called as an event: letters, digits and _ with dots between")
    files = []
    kinds = set()
    for path in sorted(directory.iterdir()):
        kind = KINDS.get(path.suffix)
        if kind is None or path.name.startswith("."):
            if path.suffix not in (".md", ".txt"):
                raise RepositoryError(f"{path} is no schema: files end with {', '.join(KINDS)}")
            continue
        version = None if path.stem == NEXT else SchemaVersion.maybe(path.stem)
        if version is None and path.stem != NEXT:
            raise RepositoryError(f"{path} must be called MODEL.REVISION.ADDITION{path.suffix} or {NEXT}{path.suffix}")
        kinds.add(kind)
        files.append(SchemaFile(path, version, _read(path)))
    if len(kinds) != 1:
        raise RepositoryError(f"{directory} must have schemas of one kind; it has {', '.join(sorted(kinds)) or 'none'}")
    versions = sorted((file for file in files if file.version is not None), key=lambda file: file.version or ())
    coming = next((file for file in files if file.version is None), None)
    return EventSchemas(directory.name, kinds.pop(), directory, tuple(versions), coming)


def _read(path: Path) -> str:
    if path.stat().st_size > _LARGEST:
        raise RepositoryError(f"{path} is larger than {_LARGEST >> 20} MB")
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise RepositoryError(f"{path} is no text in UTF-8: {error}") from None
