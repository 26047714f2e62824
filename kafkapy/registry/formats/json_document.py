"""A schema in JSON Schema."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from kafkapy.common import exact_json
from kafkapy.common.extras import need
from kafkapy.common.patterns import PatternError, ecma
from kafkapy.registry.compatibility.incompatibility import Incompatibility, SchemaParseError
from kafkapy.registry.compatibility.json_schema import incompatible_changes
from kafkapy.registry.formats.json_nodes import JsonNode
from kafkapy.registry.formats.json_reader import JsonReader, JsonScope
from kafkapy.registry.formats.json_texts import load_json
from kafkapy.registry.formats.references import Documents
from kafkapy.registry.formats.strictness import Strictness

_ROOT = "urn:kafkapy:schema"


class JsonDocumentSchema:
    """`root` is the tree. In a new schema all `$ref`s were resolved once, so none is dangling. Nothing is fetched from
    the network."""

    schema_type = "JSON"

    def __init__(self, text: str, references: Documents, strictness: Strictness = Strictness.NEW) -> None:
        need("registry", "jsonschema", by="JSON Schema in kafkapy.registry")
        self._content = _load(text, strictness)
        is_new = strictness is Strictness.NEW
        if is_new:
            _check(self._content)
        self.root: JsonNode = self._read(references, is_new)
        if is_new:
            _check_nodes(self.root)

    def _read(self, references: Documents, is_new: bool) -> JsonNode:
        from kafkapy.schemas.json_validation import dialect_of, registry_of, resource_of

        documents = [(name, _load(document.text, Strictness.STORED)) for name, document in references.items]
        dialect = dialect_of(self._content)
        whole = resource_of(self._content)
        try:
            uri = whole.id() or _ROOT
        except AttributeError:  # its identifier is no string
            uri = _ROOT
        resolver = registry_of(documents).with_resource(uri, whole).resolver(uri)
        return JsonReader(is_new).read(self._content, JsonScope(resolver, dialect))

    @cached_property
    def canonical(self) -> str:
        """Return the canonical text; numbers keep their original form."""
        return exact_json.dumps(self._content)

    @cached_property
    def normalized(self) -> str:
        return exact_json.dumps(self._content, sort_keys=True)

    @cached_property
    def identity(self) -> str:
        return exact_json.dumps(self._content, number=lambda found: found.canonical_text)

    def formatted(self, wanted: str) -> str:
        return self.canonical

    def incompatibilities(self, writer: JsonDocumentSchema) -> list[Incompatibility]:
        return incompatible_changes(writer.root, self.root)


def _load(text: str, strictness: Strictness) -> Any:
    content = load_json(text, strictness)
    if not isinstance(content, dict | bool):
        raise SchemaParseError("A schema is an object, true or false")
    return content


def _check(content: Any) -> None:
    """Validate against the dialect's metaschema. Raises SchemaParseError."""
    from jsonschema.exceptions import SchemaError

    from kafkapy.schemas.json_validation import check_schema

    try:
        check_schema(content)
    except SchemaError as error:
        where = "/".join(map(str, error.absolute_path))
        cause = f": {error.cause}" if error.cause is not None else ""
        raise SchemaParseError(f"#/{where}: {error.message[:300]}{cause}") from None


def _check_nodes(root: JsonNode) -> None:
    """Check each reference and each pattern once. Raises SchemaParseError."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        for pattern in node.patterns:
            try:
                ecma(pattern)
            except PatternError as error:
                raise SchemaParseError(f"patternProperties: {pattern!r} is no pattern: {error}") from None
        waiting += [*node.parts, *node.properties.values(), *node.patterns.values(), *node.schema_dependencies.values()]
        waiting += [each for each in (node.all_items, node.additional, node.unevaluated) if each is not None]
        if node.target is not None:
            waiting.append(node.target())
