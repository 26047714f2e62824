"""Checks whether data of one Avro type can be read as another, by Avro's "Schema Resolution".

The kinds and paths of incompatibilities are those of Java's `SchemaCompatibility`.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkapy.registry.compatibility.incompatibility import Incompatibility
from kafkapy.registry.formats.avro_types import AvroField, AvroType

PROMOTIONS = {
    "long": ("int",),
    "float": ("int", "long"),
    "double": ("int", "long", "float"),
    "bytes": ("string",),
    "string": ("bytes",),
}
"""Reader's type -> the other types that it can read."""
_NAMED = ("record", "error", "enum", "fixed")

Path = tuple[str, ...]


def can_read(reader: AvroType, writer: AvroType) -> list[Incompatibility]:
    """Return why the reader's type cannot read the writer's; empty if it can."""
    return list(AvroComparison().compare(reader, writer, ()))


class AvroComparison:
    """A recursive comparison. Invariant: a pair of types that is being compared further up counts as compatible when
    it recurs."""

    def __init__(self) -> None:
        self._under_way: set[tuple[int, int]] = set()
        self._known: dict[tuple[int, int], bool] = {}

    def fits(self, reader: AvroType, writer: AvroType) -> bool:
        return not any(True for _ in self.compare(reader, writer, ()))

    def compare(self, reader: AvroType, writer: AvroType, path: Path) -> list[Incompatibility]:
        pair = id(reader), id(writer)
        if pair in self._under_way or self._known.get(pair):
            return []
        self._under_way.add(pair)
        try:
            found = list(self._compare(reader, writer, path))
        finally:
            self._under_way.discard(pair)
        if not found and not self._under_way:
            self._known[pair] = True
        return found

    def _compare(self, reader: AvroType, writer: AvroType, path: Path) -> Iterator[Incompatibility]:
        kind = "record" if reader.kind == "error" else reader.kind
        if kind == ("record" if writer.kind == "error" else writer.kind):
            yield from self._same_kind(kind, reader, writer, path)
        elif writer.kind == "union":
            for branch in writer.branches:
                yield from self.compare(reader, branch, path)
        elif kind == "union":
            if not any(self.fits(branch, writer) for branch in reader.branches):
                text = f"reader union lacking writer type: {writer.kind.upper()}"
                yield _found("MISSING_UNION_BRANCH", path, f"{_at(path)}: {text}", text)
        elif writer.kind not in PROMOTIONS.get(kind, ()):
            text = f"reader type: {reader.kind.upper()} not compatible with writer type: {writer.kind.upper()}"
            sentence = f"The type (path '{_at(path)}') of a field in the new schema does not match with the old schema"
            yield _found("TYPE_MISMATCH", path, sentence, text)

    def _same_kind(self, kind: str, reader: AvroType, writer: AvroType, path: Path) -> Iterator[Incompatibility]:
        if kind == "array":
            yield from self.compare(reader.branches[0], writer.branches[0], (*path, "items"))
        elif kind == "map":
            yield from self.compare(reader.branches[0], writer.branches[0], (*path, "values"))
        elif kind == "union":
            for index, branch in enumerate(writer.branches):
                yield from self._branch(reader, branch, (*path, str(index)))
        if kind in _NAMED:
            yield from _names(reader, writer, path)
        if kind == "fixed" and reader.size != writer.size:
            text = f"expected: {writer.size}, found: {reader.size}"
            where = _at((*path, "size"))
            sentence = (
                f"The size of FIXED type field at path '{where}' in the new schema does not match with the old schema"
            )
            yield _found("FIXED_SIZE_MISMATCH", (*path, "size"), sentence, text)
        elif kind == "enum":
            yield from _symbols(reader, writer, path)
        elif kind == "record":
            for index, each in enumerate(reader.fields):
                yield from self._field(each, writer, (*path, "fields", str(index)))

    def _branch(self, reader: AvroType, branch: AvroType, path: Path) -> Iterator[Incompatibility]:
        """Compare a branch of the writer's union with the reader's union."""
        if not any(self.fits(each, branch) for each in reader.branches):
            text = f"reader union lacking writer type: {branch.kind.upper()}"
            sentence = f"The new schema is missing a type inside a union field at path '{_at(path)}' in the old schema"
            yield _found("MISSING_UNION_BRANCH", path, sentence, text)

    def _field(self, each: AvroField, writer: AvroType, path: Path) -> Iterator[Incompatibility]:
        written = next((other for other in writer.fields if other.name == each.name), None)
        if written is None:
            written = next((other for other in writer.fields if other.name in each.aliases), None)
        if written is not None:
            yield from self.compare(each.type, written.type, (*path, "type"))
        elif not each.has_default:
            where = f"The field '{each.name}' at path '{_at(path)}'"
            sentence = f"{where} in the new schema has no default value and is missing in the old schema"
            yield _found("READER_FIELD_MISSING_DEFAULT_VALUE", path, sentence, each.name)


def _names(reader: AvroType, writer: AvroType, path: Path) -> Iterator[Incompatibility]:
    """Compare names without their namespaces."""
    if reader.name != writer.name and writer.full_name not in reader.aliases:
        text = f"expected: {writer.full_name}"
        sentence = f"The name of the schema has changed (path '{_at((*path, 'name'))}')"
        yield _found("NAME_MISMATCH", (*path, "name"), sentence, text)


def _symbols(reader: AvroType, writer: AvroType, path: Path) -> Iterator[Incompatibility]:
    missing = [symbol for symbol in writer.symbols if symbol not in reader.symbols]
    if missing and reader.default is None:
        shown = f"[{', '.join(missing)}]"
        sentence = (
            f"The new schema is missing enum symbols {shown} at path '{_at((*path, 'symbols'))}' in the old schema"
        )
        yield _found("MISSING_ENUM_SYMBOLS", (*path, "symbols"), sentence, shown)


def _at(path: Path) -> str:
    return "/" + "/".join(path)


def _found(kind: str, path: Path, sentence: str, extra: str) -> Incompatibility:
    return Incompatibility(kind, _at(path), sentence, extra)
