"""A schema in JSON Schema."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

from kafkapy.common.extras import need
from kafkapy.registry.compatibility.incompatibility import Incompatibility, SchemaParseError
from kafkapy.registry.compatibility.json_schema import incompatible_changes
from kafkapy.registry.formats.json_nodes import JsonNode
from kafkapy.registry.formats.json_reader import JsonReader
from kafkapy.registry.formats.references import Documents

_DEFAULT_DIALECT = "http://json-schema.org/draft-07/schema#"
_ROOT = "urn:kafkapy:schema"


class JsonDocumentSchema:
    """`root` is the tree. All `$ref`s have been looked up once: none leads into nothing. Nothing is fetched from anywhere."""

    schema_type = "JSON"

    def __init__(self, text: str, references: Documents) -> None:
        need("registry", "jsonschema", by="JSON Schema in kafkapy.registry")
        self._content = _load(text)
        self._references = references
        self._check()
        self.root: JsonNode = self._read()

    def _check(self) -> None:
        """Against the dialect's own schema."""
        from jsonschema import validators
        from jsonschema.exceptions import SchemaError

        dialect = (
            self._content.get("$schema", _DEFAULT_DIALECT) if isinstance(self._content, dict) else _DEFAULT_DIALECT
        )
        chosen = validators.validator_for({"$schema": dialect}, default=validators.Draft7Validator)
        try:
            chosen.check_schema(self._content)
        except SchemaError as error:
            where = "/".join(map(str, error.absolute_path))
            raise SchemaParseError(f"#/{where}: {error.message[:300]}") from None
        except RecursionError:
            raise SchemaParseError("The schema is nested too deep") from None

    def _read(self) -> JsonNode:
        from referencing import Registry, Resource
        from referencing.exceptions import Unresolvable
        from referencing.jsonschema import DRAFT7

        def resource(content: Any) -> Any:
            return Resource.from_contents(content, default_specification=DRAFT7)

        documents = [(name, resource(_load(document.text))) for name, document in self._references.items]
        whole = resource(self._content)
        uri = whole.id() or _ROOT
        registry: Any = Registry().with_resources([*documents, (uri, whole)])

        def resolve(reference: str, scope: Any) -> tuple[Any, Any]:
            for attempt in (
                reference,
                reference.partition("#")[0].rpartition("/")[2] + reference[reference.find("#") :],
            ):
                try:
                    found = (scope if attempt == reference else registry.resolver()).lookup(attempt)
                    return found.contents, found.resolver
                except (Unresolvable, KeyError, ValueError):
                    if "#" not in reference or "/" not in reference.partition("#")[0]:
                        break
            try:  # by the name that the reference has, whatever the base is
                found = registry.resolver().lookup(reference)
                return found.contents, found.resolver
            except (Unresolvable, KeyError, ValueError):
                raise SchemaParseError(f"The $ref {reference} leads to nothing") from None

        def enter(scope: Any, content: Any) -> Any:
            return scope.in_subresource(resource(content)) if "$id" in content or "id" in content else scope

        reader = JsonReader(resolve, enter)
        try:
            root = reader.read(self._content, registry.resolver(uri))
            _look_up_all(root)
        except RecursionError:
            raise SchemaParseError("The schema is nested too deep") from None
        return root

    @cached_property
    def canonical(self) -> str:
        return json.dumps(self._content, separators=(",", ":"), ensure_ascii=False)

    @cached_property
    def normalized(self) -> str:
        return json.dumps(self._content, separators=(",", ":"), ensure_ascii=False, sort_keys=True)

    @property
    def identity(self) -> str:
        return self.canonical

    def formatted(self, wanted: str) -> str:
        return self.canonical

    def incompatibilities(self, writer: JsonDocumentSchema) -> list[Incompatibility]:
        return incompatible_changes(writer.root, self.root)


def _load(text: str) -> Any:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SchemaParseError(f"No JSON: {error}") from None
    if not isinstance(content, dict | bool):
        raise SchemaParseError("A schema is an object, true or false")
    return content


def _look_up_all(root: JsonNode) -> None:
    """Each reference once. Raises SchemaParseError."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        waiting += [*node.parts, *node.properties.values(), *node.patterns.values(), *node.schema_dependencies.values()]
        waiting += [each for each in (node.all_items, node.additional, node.unevaluated) if each is not None]
        if node.target is not None:
            waiting.append(node.target())
