"""Validators of configs that only Connect has; the others are in `kafkapy.common.config_validators`."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

from kafkapy.common.config_def import ConfigException, Validator
from kafkapy.common.patterns import PatternError, java


class NonEmptyStringWithoutControlChars:
    """Accepts a missing value, and non-empty text without control characters."""

    def __call__(self, name: str, value: str | None) -> None:
        if value is None:
            return
        if not value:
            raise ConfigException.invalid(name, value, "String may not be empty")
        if found := [str(ord(each)) for each in value if unicodedata.category(each) == "Cc"]:
            raise ConfigException.invalid(
                name,
                value,
                f"String may not contain control sequences but had the following ASCII chars: {', '.join(found)}",
            )

    def __str__(self) -> str:
        return "non-empty string without ISO control characters"


class ListSize:
    """Accepts a missing value, and a list of at most `most` items."""

    def __init__(self, most: int) -> None:
        self.most = most

    def __call__(self, name: str, value: Sequence[str] | None) -> None:
        if value is not None and len(value) > self.most:
            raise ConfigException.invalid(name, value, f"exceeds maximum list size of [{self.most}].")

    def __str__(self) -> str:
        return f"List containing maximum of {self.most} elements"


class NonEmptyList:
    """Accepts a list that is not empty."""

    def __call__(self, name: str, value: Sequence[str] | None) -> None:
        if not value:
            raise ConfigException.invalid(name, value, "Empty list")

    def __str__(self) -> str:
        return "non-empty list"


class RegexPattern:
    """Accepts a regular expression in Java's syntax."""

    def __call__(self, name: str, value: str | None) -> None:
        if value is None:
            raise ConfigException.invalid(name, value, "Invalid regex: null")
        try:
            java(value)
        except PatternError as error:
            raise ConfigException.invalid(name, value, f"Invalid regex: {error.java_text}") from None

    def __str__(self) -> str:
        return "valid regex"


class All:
    """Accepts a value that all of the given validators accept."""

    def __init__(self, *validators: Validator) -> None:
        self.validators = validators

    def __call__(self, name: str, value: Any) -> None:
        for validator in self.validators:
            validator(name, value)

    def __str__(self) -> str:
        return ", ".join(map(str, self.validators))


class Described:
    """A function as a validator, with a text for the documentation (`ConfigDef.LambdaValidator`)."""

    def __init__(self, check: Callable[[str, Any], None], text: str) -> None:
        self.check, self.text = check, text

    def __call__(self, name: str, value: Any) -> None:
        self.check(name, value)

    def __str__(self) -> str:
        return self.text
