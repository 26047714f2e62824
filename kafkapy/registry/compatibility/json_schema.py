"""Finds the incompatible changes between two JSON Schemas, by the rules of Confluent's `SchemaDiff`.

The comparison recurses over pairs of nodes. A pair that recurs during its own comparison is a cycle, assumed to be
compatible. If an assumption proves wrong, the comparison is repeated with the known results, until none is.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkapy.common.patterns.match_budget import MatchBudget
from kafkapy.registry.compatibility.incompatibility import Incompatibility
from kafkapy.registry.compatibility.json_changes import COMPATIBLE, JsonSchemaChange, compatible, told
from kafkapy.registry.compatibility.json_parts import criteria_change, maximum_matching, scalar_changes
from kafkapy.registry.compatibility.open_content import covering_item, covering_property, items_open, properties_open
from kafkapy.registry.formats.json_nodes import JsonNode

Pair = tuple[int, int]
Changes = list[JsonSchemaChange]


def incompatible_changes(original: JsonNode, update: JsonNode) -> list[Incompatibility]:
    """Return why `update` cannot read data of `original`."""
    return [told(change) for change in all_changes(original, update) if change.kind not in COMPATIBLE]


def all_changes(original: JsonNode, update: JsonNode) -> Changes:
    known_bad: dict[Pair, Changes] = {}
    budget = MatchBudget()
    while True:
        diff = JsonComparison(known_bad, budget)
        changes = diff.compare(original, update)
        bad = {pair: found for pair, found in diff.memo.items() if not compatible(found)}
        if not diff.assumed or bad.keys() == known_bad.keys():
            return changes
        known_bad = bad


class JsonComparison:
    """One pass. `memo`: the known result of each pair; `assumed`: whether a cycle was assumed to be compatible."""

    def __init__(self, known_bad: dict[Pair, Changes], budget: MatchBudget) -> None:
        self._budget = budget
        self.memo: dict[Pair, Changes] = {}
        self.assumed = False
        self._known_bad = known_bad
        self._under_way: set[Pair] = set()

    def compare(self, original: JsonNode | None, update: JsonNode | None, *path: str) -> Changes:
        """Return the changes between two nodes, with `path` as prefix of their paths."""
        if original is None or update is None:
            if original is update:
                return []
            return [JsonSchemaChange("SCHEMA_ADDED" if original is None else "SCHEMA_REMOVED", path)]
        found = self._memoized(original.resolved(), update.resolved())
        return [JsonSchemaChange(change.kind, path + change.path) for change in found] if path else found

    def _memoized(self, original: JsonNode, update: JsonNode) -> Changes:
        pair = id(original), id(update)
        if pair in self.memo:
            return self.memo[pair]
        if pair in self._under_way:
            if pair in self._known_bad:
                return self._known_bad[pair]
            self.assumed = True
            return []
        self._under_way.add(pair)
        try:
            found = self.memo[pair] = self._compare(original, update)
        finally:
            self._under_way.discard(pair)
        return found

    def _compare(self, original: JsonNode, update: JsonNode) -> Changes:
        singled = self._with_combination(original, update)
        if singled is not None:
            return singled
        if original.kind != update.kind:
            as_bytes = original.keywords.get("connect.type") == update.keywords.get("connect.type") == "bytes"
            harmless = original.kind == "false" or update.is_empty or as_bytes
            return [] if harmless else [JsonSchemaChange("TYPE_CHANGED")]
        changes = [
            JsonSchemaChange(f"{name.lstrip('$').upper()}_CHANGED")
            for name in ("$id", "title", "description", "default")
            if original.keywords.get(name) != update.keywords.get(name)
        ]
        return changes + list(self._same_kind(original, update))

    def _with_combination(self, original: JsonNode, update: JsonNode) -> Changes | None:
        """Compare a combination with a node that is none: return the changes against a matching part; None if no part
        matches."""
        if (original.kind == "combined") == (update.kind == "combined"):
            return None
        combined = update if update.kind == "combined" else original
        change = None
        if len(combined.parts) != 1:
            if combined is update and update.criterion != "allOf":
                change = JsonSchemaChange("SUM_TYPE_EXTENDED")
            elif combined is original and original.criterion == "allOf":
                change = JsonSchemaChange("PRODUCT_TYPE_NARROWED")
            else:
                return None
        for part in combined.parts:
            found = self.compare(original, part) if combined is update else self.compare(part, update)
            if compatible(found):
                return found if change is None else [*found, change]
        return None

    def _same_kind(self, original: JsonNode, update: JsonNode) -> Iterator[JsonSchemaChange]:
        if original.kind == "combined":
            yield from self._combined(original, update)
        elif original.kind == "not":
            swapped = self.compare(update.parts[0], original.parts[0])
            yield JsonSchemaChange("NOT_TYPE_NARROWED" if compatible(swapped) else "NOT_TYPE_EXTENDED", ("not",))
        elif original.kind == "object":
            yield from self._object(original, update)
        elif original.kind == "array":
            yield from self._array(original, update)
        else:
            yield from scalar_changes(original, update)

    def _combined(self, original: JsonNode, update: JsonNode) -> Iterator[JsonSchemaChange]:
        kind = criteria_change(original, update)
        if kind is not None:
            yield JsonSchemaChange(kind)
            if kind == "COMBINED_TYPE_CHANGED":
                return
        mine = list({part.resolved().identity: part for part in original.parts}.values())
        theirs = list({part.resolved().identity: part for part in update.parts}.values())
        if len(mine) < len(theirs):
            yield JsonSchemaChange("PRODUCT_TYPE_EXTENDED" if update.criterion == "allOf" else "SUM_TYPE_EXTENDED")
        elif len(mine) > len(theirs):
            yield JsonSchemaChange("PRODUCT_TYPE_NARROWED" if original.criterion == "allOf" else "SUM_TYPE_NARROWED")
        edges: dict[tuple[int, int], Changes] = {}
        for i, part in enumerate(mine):
            for j, other in enumerate(theirs):
                found = self.compare(part, other, f"{original.criterion}/{i}")
                if compatible(found):
                    edges[i, j] = found
        matching = maximum_matching(len(mine), len(theirs), set(edges))
        for pair in matching:
            yield from edges[pair]
        if len(matching) < min(len(mine), len(theirs)):
            yield JsonSchemaChange("COMBINED_TYPE_SUBSCHEMAS_CHANGED")

    # -- objects

    def _object(self, original: JsonNode, update: JsonNode) -> Iterator[JsonSchemaChange]:
        for name in original.properties.keys() & update.properties.keys():
            was, is_ = name in original.required, name in update.required
            if was and not is_:
                yield JsonSchemaChange("REQUIRED_ATTRIBUTE_REMOVED", ("required", name))
            elif is_ and not was:
                with_default = "_WITH_DEFAULT" if update.properties[name].has_default else ""
                yield JsonSchemaChange(f"REQUIRED_ATTRIBUTE{with_default}_ADDED", ("required", name))
        for name in original.properties | update.properties:
            yield from self._property(name, original, update)
        yield from self._dependencies(original, update)
        yield from self._additional("PROPERTIES", original, update)
        yield from self._unevaluated("PROPERTIES", original, update)
        yield from scalar_changes(original, update)

    def _property(self, name: str, original: JsonNode, update: JsonNode) -> Iterator[JsonSchemaChange]:
        path = ("properties", name)
        before, after = original.properties.get(name), update.properties.get(name)
        if before is not None and after is not None:
            yield from self.compare(before, after, *path)
        elif before is not None:
            yield from self._removed(
                "PROPERTY", before, properties_open(update), covering_property(update, name, self._budget), path
            )
        elif after is not None:
            required = "REQUIRED" if name in update.required else "OPTIONAL"
            if required == "REQUIRED" and after.has_default:
                required = "REQUIRED_PROPERTY_WITH_DEFAULT"
            else:
                required += "_PROPERTY"
            if properties_open(original):
                empty = "PROPERTY_WITH_EMPTY_SCHEMA" if after.is_empty else required
                yield JsonSchemaChange(f"{empty}_ADDED_TO_OPEN_CONTENT_MODEL", path)
                return
            covering = covering_property(original, name, self._budget)
            if covering is not None:
                yield from self._covered("PROPERTY_ADDED", covering, after, path)
            yield JsonSchemaChange(f"{required}_ADDED_TO_UNOPEN_CONTENT_MODEL", path)

    def _removed(
        self, what: str, before: JsonNode, is_open: bool, covering: JsonNode | None, path: tuple[str, ...]
    ) -> Iterator[JsonSchemaChange]:
        if is_open:
            yield JsonSchemaChange(f"{what}_REMOVED_FROM_OPEN_CONTENT_MODEL", path)
        elif covering is not None:
            yield from self._covered(f"{what}_REMOVED", before, covering, path)
        elif before.kind == "false":
            yield JsonSchemaChange(f"{what}_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL", path)
        else:
            yield JsonSchemaChange(f"{what}_REMOVED_FROM_CLOSED_CONTENT_MODEL", path)

    def _covered(
        self, what: str, before: JsonNode, after: JsonNode, path: tuple[str, ...]
    ) -> Iterator[JsonSchemaChange]:
        found = self.compare(before, after, *path)
        yield from found
        yield JsonSchemaChange(
            f"{what}_{'IS' if compatible(found) else 'NOT'}_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", path
        )

    def _dependencies(self, original: JsonNode, update: JsonNode) -> Iterator[JsonSchemaChange]:
        for name in original.property_dependencies | update.property_dependencies:
            before, after = original.property_dependencies.get(name), update.property_dependencies.get(name)
            if before != after:
                kind = "CHANGED"
                if after is None:
                    kind = "REMOVED"
                elif before is None:
                    kind = "ADDED"
                elif after > before:
                    kind = "EXTENDED"
                elif before > after:
                    kind = "NARROWED"
                yield JsonSchemaChange(f"DEPENDENCY_ARRAY_{kind}", ("dependencies", name))
        for name in original.schema_dependencies | update.schema_dependencies:
            older, newer = original.schema_dependencies.get(name), update.schema_dependencies.get(name)
            if older is None or newer is None:
                kind = "ADDED" if older is None else "REMOVED"
                yield JsonSchemaChange(f"DEPENDENCY_SCHEMA_{kind}", ("dependencies", name))
            else:
                yield from self.compare(older, newer, "dependencies", name)

    def _additional(self, what: str, original: JsonNode, update: JsonNode) -> Iterator[JsonSchemaChange]:
        path = f"additional{what.capitalize()}"
        if original.permits_additional != update.permits_additional:
            yield JsonSchemaChange(f"ADDITIONAL_{what}_{'ADDED' if update.permits_additional else 'REMOVED'}", (path,))
        elif original.additional is None and update.additional is not None:
            yield JsonSchemaChange(f"ADDITIONAL_{what}_NARROWED", (path,))
        elif original.additional is not None and update.additional is None:
            yield JsonSchemaChange(f"ADDITIONAL_{what}_EXTENDED", (path,))
        else:
            yield from self.compare(original.additional, update.additional, path)

    def _unevaluated(self, what: str, original: JsonNode, update: JsonNode) -> Iterator[JsonSchemaChange]:
        before, after = original.unevaluated, update.unevaluated
        path = f"unevaluated{what.capitalize()}"
        if before is not None and after is not None:
            no_change = (before.kind == "false") == (after.kind == "false") and before.is_empty == after.is_empty
            if no_change:
                yield from self.compare(before, after, path)
                return
        elif before is after:
            return
        if before is not None and before.kind == "false":
            kind = "ADDED"
        elif after is not None and after.kind == "false":
            kind = "REMOVED"
        else:
            kind = "NARROWED" if before is None or (after is not None and before.is_empty) else "EXTENDED"
        yield JsonSchemaChange(f"UNEVALUATED_{what}_{kind}", (path,))

    # -- arrays

    def _array(self, original: JsonNode, update: JsonNode) -> Iterator[JsonSchemaChange]:
        yield from self.compare(original.all_items, update.all_items, "items")
        mine, theirs = original.parts, update.parts
        for index in range(max(len(mine), len(theirs))):
            path = (f"items/{index}",)
            if index >= len(theirs):
                yield from self._removed("ITEM", mine[index], items_open(update), covering_item(update), path)
            elif index >= len(mine):
                yield from self._item_added(original, theirs[index], path)
            else:
                yield from self.compare(mine[index], theirs[index], *path)
        yield from self._additional("ITEMS", original, update)
        yield from self._unevaluated("ITEMS", original, update)
        yield from scalar_changes(original, update)

    def _item_added(self, original: JsonNode, added: JsonNode, path: tuple[str, ...]) -> Iterator[JsonSchemaChange]:
        covering = covering_item(original)
        if items_open(original):
            yield JsonSchemaChange(
                f"ITEM_{'WITH_EMPTY_SCHEMA_' if added.is_empty else ''}ADDED_TO_OPEN_CONTENT_MODEL", path
            )
        elif covering is not None:
            yield from self._covered("ITEM_ADDED", covering, added, path)
        else:
            yield JsonSchemaChange("ITEM_ADDED_TO_CLOSED_CONTENT_MODEL", path)
