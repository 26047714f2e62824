"""What a change of a schema is: MODEL, REVISION or ADDITION, and why, field by field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kafkapy.bus.schema_version import FIRST_VERSION, ChangeKind, SchemaVersion
from kafkapy.bus.schemas.model import field_lines, same_schema
from kafkapy.bus.schemas.repository import EventSchemas, RepositoryError, SchemaFile


class SchemaChange(NamedTuple):
    """`version` is the one that fits. `reasons`: why it is no less than `kind`; `fields`: what is different, as + and - lines."""

    kind: ChangeKind
    version: SchemaVersion
    reasons: list[str]
    fields: list[str]


def compare_schemas(kind: str, old: str, new: str) -> list[str]:
    """Why `new` cannot read everything that `old` wrote; empty if it can. Raises RepositoryError for what is no schema."""
    from kafkapy.registry.compatibility import SchemaParseError, compare

    try:
        found = compare(kind, old, new)
    except SchemaParseError as error:
        raise RepositoryError(f"This is no {kind} schema: {error}") from error
    return [f"{each.path}: {each.description}" if each.path else each.description for each in found]


def classify(kind: str, earlier: Sequence[SchemaFile], new: str) -> SchemaChange:
    """What it is to put `new` after these versions. It must read all that the versions of the same MODEL wrote, and be read by
    all of the same REVISION; the rest decides. Raises RepositoryError."""
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
    """`1.0.0, 1.0.1 and 1.1.0`: what holds for several versions is said once."""
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
    """A sentence for each version that claims less than it changes."""
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
    """What `next` becomes. `wanted`: the version that its author asks for. Raises RepositoryError: there is nothing new, or it
    claims less."""
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
