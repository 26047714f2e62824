"""Classifies a change of a schema: MODEL, REVISION or ADDITION, with reasons and a difference by field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kafkapy.bus.schema_version import FIRST_VERSION, ChangeKind, SchemaVersion
from kafkapy.bus.schemas.model import field_lines, same_schema
from kafkapy.bus.schemas.repository import EventSchemas, RepositoryError, SchemaFile


class SchemaChange(NamedTuple):
    """A classified change. `version`: the version number that fits. `reasons`: why the change is not smaller than
    `kind`. `fields`: the differences, as + and - lines."""

    kind: ChangeKind
    version: SchemaVersion
    reasons: list[str]
    fields: list[str]


def compare_schemas(kind: str, old: str, new: str) -> list[str]:
    """Reasons for which `new` cannot read everything that `old` wrote; empty if it can. Raises RepositoryError if a
    text is no schema."""
    from kafkapy.registry.compatibility import SchemaParseError, compare

    try:
        found = compare(kind, old, new)
    except SchemaParseError as error:
        raise RepositoryError(f"This is no {kind} schema: {error}") from error
    return [f"{each.path}: {each.description}" if each.path else each.description for each in found]


def classify(kind: str, earlier: Sequence[SchemaFile], new: str) -> SchemaChange:
    """Classify `new` after these versions.

    A schema of the same MODEL reads what all its versions wrote; one of the same REVISION can also be read by all of
    them. Raises RepositoryError.
    """
    if not earlier:
        return SchemaChange(ChangeKind.MODEL, FIRST_VERSION, ["it is the first version"], [])
    latest = earlier[-1]
    version = latest.version
    assert version is not None
    if same_schema(kind, latest.text, new):
        return SchemaChange(ChangeKind.NONE, version, [], [])
    fields = fields_changed(kind, latest.text, new)
    unread: dict[str, list[str]] = {}
    unreadable: dict[str, list[str]] = {}
    for before in earlier:
        assert before.version is not None
        if before.version.model == version.model:
            for why in compare_schemas(kind, before.text, new):
                unread.setdefault(why, []).append(str(before.version))
            if before.version.revision == version.revision:
                for why in compare_schemas(kind, new, before.text):
                    unreadable.setdefault(why, []).append(str(before.version))
    backward = [f"it cannot read {_listed(versions)}: {why}" for why, versions in unread.items()]
    forward = [f"{_listed(versions)} cannot read it: {why}" for why, versions in unreadable.items()]
    found = ChangeKind.MODEL if backward else ChangeKind.REVISION if forward else ChangeKind.ADDITION
    return SchemaChange(
        found, version.next(found), backward or forward or ["each can read what the other writes"], fields
    )


def _listed(versions: Sequence[str]) -> str:
    """Joins version numbers: `1.0.0, 1.0.1 and 1.1.0`."""
    return versions[0] if len(versions) == 1 else f"{', '.join(versions[:-1])} and {versions[-1]}"


def fields_changed(kind: str, old: str, new: str) -> list[str]:
    """`- city: string` and `+ city: null | string = null`, field by field."""
    before, after = field_lines(kind, old), field_lines(kind, new)
    found = []
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) != after.get(path):
            if path in before:
                found.append(f"- {path}: {before[path]}")
            if path in after:
                found.append(f"+ {path}: {after[path]}")
    return found


def wrong_claims(event: EventSchemas) -> list[str]:
    """A sentence for each version whose number is too small for its change."""
    found = []
    for position, file in enumerate(event.versions):
        assert file.version is not None
        if not position:
            compare_schemas(event.kind, file.text, file.text)
            continue
        before = event.versions[position - 1].version
        assert before is not None
        claimed = file.version.claimed_since(before)
        earlier = event.versions[:position]
        change = classify(event.kind, earlier, file.text)
        if change.kind > claimed:
            found.append(
                f"{event.name} {file.version} says that it is an {claimed.name} to {before}, but it is a {change.kind.name}: "
                f"{'; '.join(change.reasons)}. It must be {change.version} or above"
            )
    return found


def next_version(event: EventSchemas, wanted: SchemaVersion | None = None) -> SchemaChange:
    """The version number that `next` gets. `wanted`: the author's choice. Raises RepositoryError if nothing has
    changed, or `wanted` is too small for the change."""
    if event.next is None:
        raise RepositoryError(
            f"{event.name} has no {event.directory / 'next.*'}: that is where the next version is written"
        )
    change = classify(event.kind, event.versions, event.next.text)
    if change.kind is ChangeKind.NONE:
        raise RepositoryError(f"{event.next.path} is what {change.version} is already")
    if wanted is None:
        return change
    latest = event.latest
    before = None if latest is None else latest.version
    if before is not None and (wanted <= before or wanted.claimed_since(before) < change.kind):
        raise RepositoryError(
            f"{event.name} cannot become {wanted}: the change to {before} is a {change.kind.name} "
            f"({'; '.join(change.reasons)}), so it must be {change.version} or above"
        )
    return change._replace(version=wanted)
