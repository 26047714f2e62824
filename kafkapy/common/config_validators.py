"""Validators of configs. Each validator's `str` is shown in the config reference, as in Kafka."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kafkapy.common import metadata_version
from kafkapy.common.config_def import ConfigException, to_text

Number = int | float


class Range:
    """Accepts `low` <= value <= `high`; refuses a missing value."""

    def __init__(self, low: Number, high: Number | None) -> None:
        self.low = low
        self.high = high

    def __call__(self, name: str, value: Number | None) -> None:
        if value is None:
            raise ConfigException.invalid(name, value, "Value must be non-null")
        if value < self.low:
            raise ConfigException.invalid(name, value, f"Value must be at least {to_text(self.low)}")
        if self.high is not None and value > self.high:
            raise ConfigException.invalid(name, value, f"Value must be no more than {to_text(self.high)}")

    def __str__(self) -> str:
        return f"[{to_text(self.low)},...{'' if self.high is None else ',' + to_text(self.high)}]"


def at_least(low: Number) -> Range:
    return Range(low, None)


def between(low: Number, high: Number) -> Range:
    return Range(low, high)


class RangeOr:
    """Accepts a range, and one special value outside of it."""

    def __init__(self, low: int, high: int, other: int) -> None:
        self.low, self.high, self.other = low, high, other

    def __call__(self, name: str, value: int) -> None:
        if not self.low <= value <= self.high and value != self.other:
            raise ConfigException.invalid(
                name, value, f"Value must be between {self.low} and {self.high} or equal to {self.other}"
            )

    def __str__(self) -> str:
        return f"[{self.low},...,{self.high}] or {self.other}"


class OneOf:
    """Accepts one of some words; with `case_insensitive` in any case."""

    def __init__(self, *words: str, case_insensitive: bool = False) -> None:
        self.words = words
        self.case_insensitive = case_insensitive

    def __call__(self, name: str, value: str | None) -> None:
        if self.case_insensitive:
            if value is None or value.upper() not in self.words:
                raise ConfigException.invalid(
                    name, value, f"String must be one of (case insensitive): {', '.join(self.words)}"
                )
        elif value not in self.words:
            raise ConfigException.invalid(name, value, f"String must be one of: {', '.join(self.words)}")

    def __str__(self) -> str:
        return f"{'(case insensitive) ' if self.case_insensitive else ''}[{', '.join(self.words)}]"


class EachOneOf(OneOf):
    """Accepts a list whose items are among these words."""

    def __call__(self, name: str, value: Sequence[str] | None) -> None:
        for item in value or ():
            super().__call__(name, item)


class NonEmptyString:
    def __call__(self, name: str, value: str | None) -> None:
        if value == "":
            raise ConfigException.invalid(name, value, "String must be non-empty")

    def __str__(self) -> str:
        return "non-empty string"


class NonNull:
    def __call__(self, name: str, value: object) -> None:
        if value is None:
            raise ConfigException.invalid(name, value, "entry must be non null")

    def __str__(self) -> str:
        return "non-null string"


class ThrottledReplicas:
    """Accepts `*`, or a list of `partition:broker` (KIP-73)."""

    _REPLICA = re.compile(r"(?:[0-9]+:[0-9]+)?")

    def __call__(self, name: str, value: list[str]) -> None:
        items = [item.strip() for item in value]
        if "".join(items) != "*" and not all(self._REPLICA.fullmatch(item) for item in items):
            raise ConfigException.invalid(
                name, value, f"{name} must be the literal '*' or a list of replicas in the following format: {self}"
            )

    def __str__(self) -> str:
        return "[partitionId]:[brokerId],[partitionId]:[brokerId],..."


class KnownVersion:
    """Accepts versions of Kafka whose protocol or message format can be selected (`inter.broker.protocol.version`)."""

    def __call__(self, name: str, value: str) -> None:
        try:
            metadata_version.from_version_string(value)
        except ValueError as error:
            raise ConfigException.invalid(name, value, str(error)) from None

    def __str__(self) -> str:
        return f"[{', '.join(metadata_version.VERSIONS)}]"
