"""`ssl.principal.mapping.rules` (KIP-371; Kafka's `SslPrincipalMapper`): maps distinguished names to short ones."""

from __future__ import annotations

import re
from typing import Final

from kafkapy.common import patterns
from kafkapy.common.config_def import ConfigException
from kafkapy.common.java_text import java_trim
from kafkapy.security.java_substitution import JavaSubstitution

DEFAULT_RULES: Final = "DEFAULT"
_RULE_TEXT = r"(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?).*?|(.*?)"
_SPACE = r"[ \t\n\x0b\f\r]*"
_SPLITTER = re.compile(rf"{_SPACE}({_RULE_TEXT}){_SPACE}(,{_SPACE}|$)")
_PARSER = re.compile(_RULE_TEXT)
_BACK_REFERENCE = re.compile(r"\$([0-9]+)")


class NoMatchingRuleError(ValueError):
    """No rule applies to a distinguished name, so the connection has no principal."""


class SslPrincipalMapper:
    """The ordered rules.

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
        """Return the name of a principal by the first rule that matches.

        Parameters:
            distinguished_name: As Java prints it: see `DistinguishedName.java_name`.

        Raises:
            NoMatchingRuleError: No rule matches; the message is Kafka's.
        """
        for rule in self._rules:
            name = rule.apply(distinguished_name)
            if name is not None:
                return name
        raise NoMatchingRuleError(f"No rules apply to {distinguished_name}, rules {self._shown}")


class _DefaultRule:
    """Returns the name unchanged."""

    def __str__(self) -> str:
        return DEFAULT_RULES

    def apply(self, name: str) -> str | None:
        return name


class _MappingRule:
    """A pattern for the whole name, and the replacement of its matches."""

    def __init__(self, pattern: str, replacement: str, case: str) -> None:
        """Raise ConfigException."""
        self._text = pattern
        self._replacement = replacement
        self._case = case
        try:
            groups = JavaSubstitution(pattern, "").groups
        except patterns.PatternError as error:
            raise ConfigException(f"Invalid rule: the pattern {pattern} is not one of Java: {error}") from None
        try:
            self._substitution = JavaSubstitution(pattern, _with_literal_references(replacement, groups))
        except patterns.PatternError as error:
            raise ConfigException(f"Invalid rule: {error}: {replacement}") from None

    def __str__(self) -> str:
        return f"RULE:{self._text}/{self._replacement}" + (f"/{self._case}" if self._case else "")

    def apply(self, name: str) -> str | None:
        try:
            if not self._substitution.matches(name):
                return None
            # As `String.replaceAll`: every match is replaced, even an empty one after a whole one.
            result = self._substitution.replace_all(name)
        except patterns.PatternTimeoutError:
            raise NoMatchingRuleError(f"A rule takes too long for {name[:200]}: {self}") from None
        if self._case:
            return result.lower() if self._case == "L" else result.upper()
        return result


def _split(rules: str) -> list[str]:
    return [match[1] for match in _SPLITTER.finditer(java_trim(rules))]


def _parsed(text: str) -> _DefaultRule | _MappingRule | None:
    """Return None for an empty rule, which Kafka ignores."""
    match = _PARSER.match(text)
    if match is None:
        raise ConfigException(f"Invalid rule: {text}")
    if match.end() != len(text):
        raise ConfigException(f"Invalid rule: `{text}`, unmatched substring: `{text[match.end() :]}`")
    if match[1] is not None:
        return _DefaultRule()
    return None if match[2] is None else _MappingRule(match[2], match[3], match[4])


def _with_literal_references(replacement: str, groups: int) -> str:
    """Escape references to groups that the pattern lacks: `$4` of three groups becomes `\\$4`.

    As in Kafka's `escapeLiteralBackReferences`, they are searched in the original text.
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
