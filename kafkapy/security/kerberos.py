"""Kerberos names and `sasl.kerberos.principal.to.local.rules` (Kafka's `KerberosName`, `KerberosShortNamer`), without
Kerberos itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from kafkapy.common.patterns import PatternError, TranslatedPattern, java
from kafkapy.security.java_substitution import JavaSubstitution

_NAME = re.compile(r"([^/@]*)(?:/([^/@]*))?@([^/@]*)")
_RULE = re.compile(
    r"(?:(?P<default>DEFAULT)|RULE:\[(?P<count>\d*):(?P<format>[^\]]*)\](?:\((?P<match>[^)]*)\))?"
    r"(?:s/(?P<from>[^/]*)/(?P<to>[^/]*)/(?P<repeat>g)?)?/?(?P<case>[LU])?)",
    re.ASCII,
)
_DEFAULT_REALM = re.compile(r"^\s*default_realm\s*=\s*(\S+)", re.MULTILINE)
_MOST_OF_CONFIG = 1 << 20
_FORMAT = re.compile(r"\$(\d*)", re.ASCII)


class KerberosRuleError(ValueError):
    """A rule is malformed."""


class NoMatchingKerberosRuleError(ValueError):
    """No rule maps a principal to a short name."""


class KerberosName(NamedTuple):
    """The parts of `service/host@REALM`."""

    service_name: str
    host_name: str | None
    realm: str | None

    def __str__(self) -> str:
        host = "" if self.host_name is None else f"/{self.host_name}"
        return f"{self.service_name}{host}" + ("" if self.realm is None else f"@{self.realm}")


def parse_kerberos_name(text: str) -> KerberosName:
    """Parse a principal's name; without a realm all of it is the service's.

    Raises:
        ValueError: It has a realm but not the form `service/host@REALM`.

    Example:
        >>> parse_kerberos_name("kafka/broker.example.com@EXAMPLE.COM").host_name
        'broker.example.com'
    """
    match = _NAME.fullmatch(text)
    if match is not None:
        return KerberosName(match[1], match[2], match[3])
    if "@" in text:
        raise ValueError(f"Malformed Kerberos name: {text}")
    return KerberosName(text, None, None)


def default_realm() -> str | None:
    """Return `default_realm` of the system's Kerberos configuration (the first file of `KRB5_CONFIG`, or
    /etc/krb5.conf); None: none.
    """
    path = os.environ.get("KRB5_CONFIG", "").split(":")[0] or "/etc/krb5.conf"
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            found = _DEFAULT_REALM.search(file.read(_MOST_OF_CONFIG))
    except OSError:
        return None
    return None if found is None else found[1]


class KerberosShortNamer:
    """The ordered rules.

    Args:
        rules: `DEFAULT`, or `RULE:[n:string](regexp)s/pattern/replacement/g/L`; the part after `]` is optional, `/U`
            converts to upper case. An empty list has no rule.
        default_realm: The default realm of the system's Kerberos configuration; `DEFAULT` applies to names of this
            realm. None: there is none.

    Raises:
        KerberosRuleError: A rule is malformed.

    Example:
        >>> namer = KerberosShortNamer(["RULE:[1:$1@$0](.*@MYDOMAIN.COM)s/@.*//", "DEFAULT"], None)
        >>> namer.short_name(parse_kerberos_name("user@MYDOMAIN.COM"))
        'user'
    """

    def __init__(self, rules: Sequence[str] = ("DEFAULT",), default_realm: str | None = None) -> None:
        self._texts = list(rules)
        self._rules = [_parsed(rule, default_realm) for rule in rules]

    def __repr__(self) -> str:
        return f"KerberosShortNamer(principalToLocalRules = [{', '.join(self._texts)}])"

    def short_name(self, name: KerberosName) -> str:
        """Return the short name by the first applicable rule; a name of one part is returned unchanged.

        Raises:
            NoMatchingKerberosRuleError: No rule applies, or the result is not a simple name.
        """
        if name.host_name is None and name.realm is None:
            return name.service_name
        parameters = [name.realm or "", name.service_name]
        if name.host_name is not None:
            parameters.append(name.host_name)
        for rule in self._rules:
            try:
                short = rule.apply(parameters)
            except PatternError as error:
                raise NoMatchingKerberosRuleError(f"A rule cannot be applied to {name}: {error}") from None
            if short is not None:
                return short
        raise NoMatchingKerberosRuleError(f"No rules apply to {name}, rules [{', '.join(self._texts)}]")


class _KerberosRule:
    """One rule. `parameters`: the realm, then the parts of the name."""

    def __init__(self, text: str) -> None:
        self._text = text

    def apply(self, parameters: Sequence[str]) -> str | None:
        """Return the short name; None: the rule does not apply. Raises PatternError and NoMatchingKerberosRuleError."""
        short = self._made(parameters)
        if short is not None and ("/" in short or "@" in short):
            raise NoMatchingKerberosRuleError(f"Non-simple name {short} after auth_to_local rule {self._text}")
        return short

    def _made(self, parameters: Sequence[str]) -> str | None:
        raise NotImplementedError


class _DefaultKerberosRule(_KerberosRule):
    def __init__(self, text: str, realm: str | None) -> None:
        super().__init__(text)
        self._realm = realm

    def _made(self, parameters: Sequence[str]) -> str | None:
        return parameters[1] if parameters[0] == self._realm else None


class _WrittenKerberosRule(_KerberosRule):
    def __init__(self, text: str, match: re.Match[str]) -> None:
        """Raise PatternError and KerberosRuleError."""
        super().__init__(text)
        if not match["count"]:
            raise KerberosRuleError(f"Invalid rule: {text}: it lacks the number of parts")
        self._count = int(match["count"])
        self._format = match["format"]
        for number in _FORMAT.findall(self._format):
            if not number or int(number) > self._count:
                raise KerberosRuleError(
                    f"Invalid rule: {text}: ${number} is outside of the valid range 0 to {self._count}"
                )
        self._match: TranslatedPattern | None = None if match["match"] is None else java(match["match"])
        self._substitution = None if match["from"] is None else JavaSubstitution(match["from"], match["to"])
        self._repeat = match["repeat"] is not None
        self._case = match["case"]

    def apply(self, parameters: Sequence[str]) -> str | None:
        short = super().apply(parameters)
        if short is None or self._case is None:
            return short
        return short.lower() if self._case == "L" else short.upper()

    def _made(self, parameters: Sequence[str]) -> str | None:
        if len(parameters) - 1 != self._count:
            return None
        base = _FORMAT.sub(lambda found: parameters[int(found[1])], self._format)
        if self._match is not None and not self._match.fullmatch(base, 0.1):
            return None
        if self._substitution is None:
            return base
        return self._substitution.replace_all(base) if self._repeat else self._substitution.replace_first(base)


def _parsed(text: str, default_realm: str | None) -> _KerberosRule:
    match = _RULE.match(text)
    if match is None:
        raise KerberosRuleError(f"Invalid rule: {text}")
    if match.end() != len(text):
        raise KerberosRuleError(f"Invalid rule: `{text}`, unmatched substring: `{text[match.end() :]}`")
    if match["default"]:
        return _DefaultKerberosRule(text, default_realm)
    try:
        return _WrittenKerberosRule(text, match)
    except PatternError as error:
        raise KerberosRuleError(f"Invalid rule: {text}: {error}") from None
