"""Extends jsonschema: patterns are ECMA-262's, and numbers are exact decimals.

Nothing is fetched: a schema may refer to the documents that are given with it, and to the metaschemas of all drafts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from functools import cache
from typing import Any

import attrs
import jsonschema
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema_specifications import REGISTRY as METASCHEMAS
from referencing import Registry, Resource
from referencing.exceptions import NoSuchResource
from referencing.jsonschema import lookup_recursive_ref, specification_with

from kafkapy.common.exact_json import ExactNumber, is_multiple
from kafkapy.common.patterns import PatternError, ecma

DEFAULT_DIALECT = "http://json-schema.org/draft-07/schema"
_BASES = {
    "http://json-schema.org/draft-03/schema": jsonschema.Draft3Validator,
    "http://json-schema.org/draft-04/schema": jsonschema.Draft4Validator,
    "http://json-schema.org/draft-06/schema": jsonschema.Draft6Validator,
    DEFAULT_DIALECT: jsonschema.Draft7Validator,
    "https://json-schema.org/draft/2019-09/schema": jsonschema.Draft201909Validator,
    "https://json-schema.org/draft/2020-12/schema": jsonschema.Draft202012Validator,
}
_SIBLINGS_COUNT = frozenset(list(_BASES)[-2:])
_NUMERIC = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "enum", "const")


def dialect_of(schema: Any, default: str = DEFAULT_DIALECT) -> str:
    """Return a schema's metaschema, named with or without `#`, by http or https; the default if it names no known
    one."""
    named = schema.get("$schema") if isinstance(schema, dict) else None
    return _known(named) or default if isinstance(named, str) else default


def siblings_count(dialect: str) -> bool:
    """Return whether keywords beside `$ref` are effective: from draft 2019-09 on."""
    return dialect in _SIBLINGS_COUNT


def resource_of(content: Any, dialect: str = DEFAULT_DIALECT) -> Any:
    """A document with what its dialect says of identifiers; `dialect` for one that names none."""
    return specification_with(dialect_of(content, dialect)).create_resource(content)


def registry_of(documents: Iterable[tuple[str, Any]]) -> Any:
    """The documents that a schema may refer to: the metaschemas, and its references.

    Args:
        documents: Names and contents of the references. One is found by its name, by its own `$id`, and by its name behind
            whatever base the schema has.
    """
    resources = {name.removesuffix("#"): resource_of(content) for name, content in documents}

    def retrieve(uri: str) -> Any:
        known = _known(uri)
        if known is not None and known != uri:
            return Resource.from_contents(METASCHEMAS.contents(known))
        for name, resource in resources.items():
            if uri.endswith(f"/{name}"):
                return resource
        raise NoSuchResource(ref=uri)

    registry: Any = METASCHEMAS.combine(Registry(retrieve=retrieve))
    return registry.with_resources(resources.items())


def validator_of(schema: Any, registry: Any = None) -> Any:
    """What validates values by a schema. Raises SchemaError if it is none."""
    kind = _validator_class(dialect_of(schema))
    check_schema(schema)
    return kind(schema, registry=METASCHEMAS if registry is None else registry)


def check_schema(schema: Any) -> None:
    """Raises SchemaError if a schema does not fit the metaschema that it names."""
    dialect = dialect_of(schema)
    metaschema = METASCHEMAS.contents(dialect)
    validator = _validator_class(dialect)(metaschema, registry=METASCHEMAS, format_checker=_format_checker())
    for error in validator.iter_errors(schema):
        raise SchemaError.create_from(error)


def _known(uri: str) -> str | None:
    """The metaschema of a draft, or of a vocabulary, that is meant."""
    plain = uri.removesuffix("#")
    for scheme in ("http", "https"):
        attempt = f"{scheme}{plain[plain.find(':') :]}" if plain.startswith(("http:", "https:")) else plain
        if attempt in _BASES or attempt in METASCHEMAS:
            return attempt
    return None


@cache
def _validator_class(dialect: str) -> Any:
    """jsonschema's class for a dialect with our keywords."""
    base: Any = _BASES[dialect]
    keywords = {name: _exactly(base.VALIDATORS[name]) for name in _NUMERIC if name in base.VALIDATORS}
    keywords |= {"pattern": _pattern, "patternProperties": _pattern_properties}
    keywords |= {"additionalProperties": _additional_properties}
    multiple = "divisibleBy" if "divisibleBy" in base.VALIDATORS else "multipleOf"
    keywords[multiple] = _multiple_of
    if "unevaluatedProperties" in base.VALIDATORS:
        keywords["unevaluatedProperties"] = _unevaluated_properties
    checker = base.TYPE_CHECKER.redefine("number", _is_number).redefine("integer", _is_integer)
    extended: Any = jsonschema.validators.extend(base, keywords, type_checker=checker)
    extended.evolve = _evolve
    return extended


def _evolve(validator: Any, **changes: Any) -> Any:
    """The validator with changes; for a schema that names its dialect, the class of that."""
    schema = changes.setdefault("schema", validator.schema)
    named = _known(schema["$schema"]) if isinstance(schema, dict) and isinstance(schema.get("$schema"), str) else None
    kind = type(validator) if named not in _BASES else _validator_class(named)
    for field in attrs.fields(type(validator)):
        if field.init:
            changes.setdefault(field.alias, getattr(validator, field.name))
    return kind(**changes)


@cache
def _format_checker() -> Any:
    """Only what does not depend on further packages."""
    checker = jsonschema.FormatChecker(formats=())
    checker.checks("regex", raises=PatternError)(_is_pattern)
    return checker


def _is_pattern(value: object) -> bool:
    """Raises PatternError for a text that is none."""
    return not isinstance(value, str) or ecma(value) is not None


# -- numbers


def _is_number(checker: Any, value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _is_integer(checker: Any, value: Any) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    if isinstance(value, Decimal):
        return value.is_finite() and is_multiple(value, 1)
    return isinstance(value, int) and not isinstance(value, bool)


def _exact(value: Any) -> Any:
    """A value whose floats are the decimals that JSON would have for them."""
    if isinstance(value, float) and math.isfinite(value):
        return ExactNumber(repr(value))
    if isinstance(value, dict):
        return {name: _exact(each) for name, each in value.items()}
    return [_exact(each) for each in value] if isinstance(value, list) else value


def _exactly(keyword: Callable[..., Any]) -> Callable[..., Iterator[ValidationError]]:
    """A keyword of jsonschema that compares numbers, given exact ones."""

    def checked(validator: Any, expected: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        if isinstance(instance, float) and not math.isfinite(instance):
            yield ValidationError(f"{instance!r} is no number in JSON")
        else:
            yield from keyword(validator, _exact(expected), _exact(instance), schema) or ()

    return checked


def _multiple_of(validator: Any, divisor: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "number"):
        exact, by = _exact(instance), _exact(divisor)
        if isinstance(exact, float) or not is_multiple(exact, by):
            yield ValidationError(f"{instance!r} is not a multiple of {divisor}")


# -- patterns


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "string") and not ecma(pattern).search(instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    for pattern, subschema in patterns.items():
        compiled = ecma(pattern)
        for name, value in instance.items():
            if compiled.search(name):
                yield from validator.descend(value, subschema, path=name, schema_path=pattern)


def _is_named(schema: Any, name: str) -> bool:
    """Is a property among a schema's `properties`, or does one of its patterns match?"""
    return name in schema.get("properties", {}) or any(
        ecma(pattern).search(name) for pattern in schema.get("patternProperties", {})
    )


def _additional_properties(validator: Any, additional: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    extras = [name for name in instance if not _is_named(schema, name)]
    if validator.is_type(additional, "object"):
        for name in extras:
            yield from validator.descend(instance[name], additional, path=name)
    elif not additional and extras:
        shown = ", ".join(map(repr, sorted(extras, key=str)))
        if schema.get("patternProperties"):
            patterns = ", ".join(map(repr, sorted(schema["patternProperties"])))
            verb = "does" if len(extras) == 1 else "do"
            yield ValidationError(f"{shown} {verb} not match any of the regexes: {patterns}")
        else:
            verb = "was" if len(extras) == 1 else "were"
            yield ValidationError(f"Additional properties are not allowed ({shown} {verb} unexpected)")


def _unevaluated_properties(validator: Any, unevaluated: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    seen = _evaluated(
        validator, instance, {name: each for name, each in schema.items() if name != "unevaluatedProperties"}
    )
    wrong = [name for name in instance if name not in seen and not _fits(validator, instance[name], unevaluated)]
    if wrong:
        shown = ", ".join(map(repr, sorted(wrong, key=str)))
        verb = "was" if len(wrong) == 1 else "were"
        yield ValidationError(f"Unevaluated properties are not allowed ({shown} {verb} unexpected)")


def _fits(validator: Any, instance: Any, schema: Any) -> bool:
    return next(validator.descend(instance, schema), None) is None


def _evaluated(validator: Any, instance: Any, schema: Any) -> set[str]:
    """The properties of an object that a schema, or one that it applies to the same object, says something about."""
    if not isinstance(schema, dict):
        return set()
    if "additionalProperties" in schema or "unevaluatedProperties" in schema:
        return set(instance)
    found = {name for name in instance if _is_named(schema, name)}
    for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
        if keyword in schema:
            resolver = validator._resolver
            resolved = (
                lookup_recursive_ref(resolver) if keyword == "$recursiveRef" else resolver.lookup(schema[keyword])
            )
            inner = validator.evolve(schema=resolved.contents, _resolver=resolved.resolver)
            found |= _evaluated(inner, instance, resolved.contents)
    for subschema in _applied(validator, instance, schema):
        found |= _evaluated(validator, instance, subschema)
    return found


def _applied(validator: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """The schemas inside of a schema that hold for the same object."""
    for keyword in ("allOf", "anyOf", "oneOf"):
        yield from (each for each in schema.get(keyword, ()) if _fits(validator, instance, each))
    for name, subschema in schema.get("dependentSchemas", {}).items():
        if name in instance:
            yield subschema
    if "if" in schema:
        holds = _fits(validator, instance, schema["if"])
        if holds:
            yield schema["if"]
        yield schema.get("then" if holds else "else", {})
