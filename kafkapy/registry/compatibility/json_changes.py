"""The kinds of changes of a JSON Schema: which are compatible, and the messages for the others."""

from __future__ import annotations

from typing import NamedTuple

from kafkapy.registry.compatibility.incompatibility import Incompatibility


class JsonSchemaChange(NamedTuple):
    """One change. `path`: relative to the compared schemas."""

    kind: str
    path: tuple[str, ...] = ()


COMPATIBLE = frozenset(
    """
    ID_CHANGED DESCRIPTION_CHANGED TITLE_CHANGED DEFAULT_CHANGED SCHEMA_REMOVED TYPE_EXTENDED MAX_LENGTH_INCREASED
    MAX_LENGTH_REMOVED MIN_LENGTH_DECREASED MIN_LENGTH_REMOVED PATTERN_REMOVED MAXIMUM_INCREASED MAXIMUM_REMOVED
    MINIMUM_DECREASED MINIMUM_REMOVED EXCLUSIVE_MAXIMUM_INCREASED EXCLUSIVE_MAXIMUM_REMOVED
    EXCLUSIVE_MINIMUM_DECREASED EXCLUSIVE_MINIMUM_REMOVED MULTIPLE_OF_REDUCED MULTIPLE_OF_REMOVED
    REQUIRED_ATTRIBUTE_WITH_DEFAULT_ADDED REQUIRED_ATTRIBUTE_REMOVED DEPENDENCY_ARRAY_NARROWED
    DEPENDENCY_ARRAY_REMOVED DEPENDENCY_SCHEMA_REMOVED MAX_PROPERTIES_INCREASED MAX_PROPERTIES_REMOVED
    MIN_PROPERTIES_DECREASED MIN_PROPERTIES_REMOVED ADDITIONAL_PROPERTIES_ADDED ADDITIONAL_PROPERTIES_EXTENDED
    UNEVALUATED_PROPERTIES_ADDED UNEVALUATED_PROPERTIES_EXTENDED
    PROPERTY_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL
    REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_UNOPEN_CONTENT_MODEL OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL
    PROPERTY_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL PROPERTY_REMOVED_FROM_OPEN_CONTENT_MODEL
    PROPERTY_ADDED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL
    PROPERTY_REMOVED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL MAX_ITEMS_INCREASED MAX_ITEMS_REMOVED
    MIN_ITEMS_DECREASED MIN_ITEMS_REMOVED UNIQUE_ITEMS_REMOVED MAX_CONTAINS_INCREASED MAX_CONTAINS_REMOVED
    MIN_CONTAINS_DECREASED MIN_CONTAINS_REMOVED ADDITIONAL_ITEMS_ADDED ADDITIONAL_ITEMS_EXTENDED
    UNEVALUATED_ITEMS_ADDED UNEVALUATED_ITEMS_EXTENDED ITEM_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL
    ITEM_ADDED_TO_CLOSED_CONTENT_MODEL ITEM_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL
    ITEM_REMOVED_FROM_OPEN_CONTENT_MODEL ITEM_ADDED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL
    ITEM_REMOVED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL ENUM_ARRAY_EXTENDED COMBINED_TYPE_EXTENDED
    PRODUCT_TYPE_NARROWED SUM_TYPE_EXTENDED NOT_TYPE_NARROWED
    """.split()  # noqa: SIM905 (a list of 70 quoted words reads worse)
)


def compatible(changes: list[JsonSchemaChange]) -> bool:
    return all(change.kind in COMPATIBLE for change in changes)


def told(change: JsonSchemaChange) -> Incompatibility:
    path = "#/" + "/".join(change.path)
    return Incompatibility(change.kind, path, _sentence(change.kind, path))


def _sentence(kind: str, path: str) -> str:
    verb = kind.rpartition("_")[2]
    if "PROPERTY" in kind or kind.startswith("ITEM_"):
        what = "item" if kind.startswith("ITEM_") else "property"
        return f"{_PROPERTIES.get(kind, 'The content model does not allow the change of a')} {what} at path '{path}'"
    if kind.startswith(("TYPE_", "COMBINED_TYPE", "ENUM_ARRAY_CHANGED")):
        return f"A type at path '{path}' is different between the new schema and the old schema"
    if kind in ("ADDITIONAL_ITEMS_REMOVED", "ADDITIONAL_PROPERTIES_REMOVED") or verb == "ADDED":
        return f"The keyword at path '{path}' in the new schema is not present in the old schema"
    if verb in ("NARROWED", "EXTENDED"):
        amount = "fewer" if verb == "NARROWED" else "more"
        return f"An array or combined type at path '{path}' has {amount} elements in the new schema than the old schema"
    if verb in ("INCREASED", "EXPANDED", "DECREASED"):
        amount = "less" if verb == "DECREASED" else "more"
        return f"The value at path '{path}' in the new schema is {amount} than its value in the old schema"
    if verb == "REMOVED":
        return f"The keyword at path '{path}' in the new schema is not present in the old schema"
    return f"The value at path '{path}' is different between the new and old schema"


_OPEN = "The old schema has an open content model, so its data may have anything in the new"
_PROPERTIES = {
    "REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL": _OPEN,
    "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL": _OPEN,
    "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL": _OPEN,
    "ITEM_ADDED_TO_OPEN_CONTENT_MODEL": _OPEN,
    "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL": "Data of the old schema lack the new schema's required",
    "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL": "The new schema has a closed content model and is missing the",
    "ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL": "The new schema has a closed content model and is missing the",
    "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL": "The new schema's content model does not cover the removed",
    "ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL": "The new schema's content model does not cover the removed",
    "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL": "The old schema's content model allowed more in the new",
    "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL": "The old schema's content model allowed more in the new",
}
