"""`ssl.principal.mapping.rules` (KIP-371; Kafka's `SslPrincipalMapper`): distinguished names to short ones."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kafkapy.common import patterns
from kafkapy.common.config_def import ConfigException
from kafkapy.common.java_text import java_trim

if TYPE_CHECKING:
    import regex

DEFAULT_RULES: Final = "DEFAULT"
_RULE_TEXT = r"(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?).*?|(.*?)"
_SPACE = r"[ \t\n\x0b\f\r]*"
_SPLITTER = re.compile(rf"{_SPACE}({_RULE_TEXT}){_SPACE}(,{_SPACE}|$)")
_PARSER = re.compile(_RULE_TEXT)
_BACK_REFERENCE = re.compile(r"\$([0-9]+)")
_SECONDS = 0.1
"""For one match: a client chooses the name, and a pattern may need exponential time."""


class NoMatchingRuleError(ValueError):
    """No rule applies to a distinguished name, so the connection has no principal."""


class SslPrincipalMapper:
    """The rules, in their order.

    Example:
        >>> SslPrincipalMapper("RULE:^CN=(.*?),OU=teams.*$/$1/L,DEFAULT").name_of("CN=Alice,OU=teams,O=x")
        'alice'
    """

    def __init__(self, rules: str = DEFAULT_RULES) -> None:
        """
        Parameters:
            rules: The config's text: `DEFAULT`, or `RULE:pattern/replacement/` with `L` or `U` for lower or upper case; several
                with commas between them.

        Raises:
            ConfigException: It is no list of rules; Kafka's sentence.
        """
        self._rules = [rule for text in _split(rules) if (rule := _parsed(text)) is not None]

    def __str__(self) -> str:
        return f"SslPrincipalMapper(rules = {self._shown})"

    @property
    def _shown(self) -> str:
        return f"[{', '.join(map(str, self._rules))}]"

    def name_of(self, distinguished_name: str) -> str:
        """The name of a principal: of the first rule that matches.

        Parameters:
            distinguished_name: As Java prints it: see `DistinguishedName.java_name`.

        Raises:
            NoMatchingRuleError: No rule matches; its text is Kafka's.
        """
        for rule in self._rules:
            name = rule.apply(distinguished_name)
            if name is not None:
                return name
        raise NoMatchingRuleError(f"No rules apply to {distinguished_name}, rules {self._shown}")


class _DefaultRule:
    """Leaves the name as it is."""

    def __str__(self) -> str:
        return DEFAULT_RULES

    def apply(self, name: str) -> str | None:
        return name


class _MappingRule:
    """A pattern for the whole name, and what to put for each of its matches."""

    def __init__(self, pattern: str, replacement: str, case: str) -> None:
        """Raises ConfigException."""
        self._text = pattern
        self._replacement = replacement
        self._case = case
        self._pattern, names = _compiled(pattern)
        groups = self._pattern.groups
        self._parts = _parts(_with_literal_references(replacement, groups), groups, names)

    def __str__(self) -> str:
        return f"RULE:{self._text}/{self._replacement}" + (f"/{self._case}" if self._case else "")

    def apply(self, name: str) -> str | None:
        try:
            if self._pattern.fullmatch(name, timeout=_SECONDS) is None:
                return None
            # As `String.replaceAll`: every match is replaced, also an empty one after a whole one.
            result: str = self._pattern.sub(self._expanded, name, timeout=_SECONDS)
        except TimeoutError:
            raise NoMatchingRuleError(f"A rule takes too long for {name[:200]}: {self}") from None
        if self._case:
            return result.lower() if self._case == "L" else result.upper()
        return result

    def _expanded(self, match: regex.Match[str]) -> str:
        # A group that took no part is nothing, as in Java.
        return "".join(part if isinstance(part, str) else match[part] or "" for part in self._parts)


def _split(rules: str) -> list[str]:
    return [match[1] for match in _SPLITTER.finditer(java_trim(rules))]


def _parsed(text: str) -> _DefaultRule | _MappingRule | None:
    """None: an empty rule, which Kafka passes over."""
    match = _PARSER.match(text)
    if match is None:
        raise ConfigException(f"Invalid rule: {text}")
    if match.end() != len(text):
        raise ConfigException(f"Invalid rule: `{text}`, unmatched substring: `{text[match.end() :]}`")
    if match[1] is not None:
        return _DefaultRule()
    return None if match[2] is None else _MappingRule(match[2], match[3], match[4])


def _compiled(pattern: str) -> tuple[regex.Pattern[str], dict[str, int]]:
    """The pattern, and the numbers of its named groups. Raises ConfigException."""
    from kafkapy.common.patterns.java_dialect import JavaReader
    from kafkapy.common.patterns.regex_engine import compiled

    try:
        patterns.java(pattern)  # checks its length
        reader = JavaReader(pattern)
        return compiled(reader.translation()), reader.names
    except patterns.PatternError as error:
        raise ConfigException(f"Invalid rule: the pattern {pattern} is not one of Java: {error}") from None


def _with_literal_references(replacement: str, groups: int) -> str:
    """References to groups that the pattern lacks become text: `$4` of three groups is `\\$4`.

    Kafka's `escapeLiteralBackReferences`, with its habit of finding them in the text before its changes.
    """
    if not groups:
        return replacement
    value = replacement
    for match in _BACK_REFERENCE.finditer(replacement):
        if match[1].startswith("0"):
            continue
        index = int(match[1])
        while index > groups and index >= 10:
            index //= 10
        if index > groups:
            value = f"{value[: match.start()]}\\{value[match.start() :]}"
    return value


def _parts(replacement: str, groups: int, names: dict[str, int]) -> list[str | int]:
    r"""Texts and numbers of groups of a replacement of `java.util.regex`: `$1`, `${name}`, `\$`. Raises ConfigException."""
    parts: list[str | int] = []
    at = 0
    while at < len(replacement):
        character = replacement[at]
        at += 1
        if character == "\\":
            if at == len(replacement):
                raise ConfigException(f"Invalid rule: the replacement {replacement} ends with a backslash")
            parts.append(replacement[at])
            at += 1
        elif character == "$":
            group, at = _group(replacement, at, groups, names)
            parts.append(group)
        else:
            parts.append(character)
    return parts


def _group(replacement: str, at: int, groups: int, names: dict[str, int]) -> tuple[int, int]:
    """The group that stands after a dollar, and where it ends: the longest number of a group that there is."""
    if replacement[at : at + 1] == "{":
        end = replacement.find("}", at)
        name = replacement[at + 1 : end] if end > 0 else ""
        if name not in names:
            raise ConfigException(f"Invalid rule: the replacement {replacement} names a group that the pattern lacks")
        return names[name], end + 1
    digits = re.match("[0-9]+", replacement[at:])
    if digits is None:
        raise ConfigException(
            f"Invalid rule: in the replacement {replacement} no group follows a dollar; write \\$ for one"
        )
    size = 1
    while size < len(digits[0]) and int(digits[0][: size + 1]) <= groups:
        size += 1
    number = int(digits[0][:size])
    if number > groups:
        raise ConfigException(
            f"Invalid rule: the replacement {replacement} names group {number}, which the pattern lacks"
        )
    return number, at + size
