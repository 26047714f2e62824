"""Headers of a worker's responses: cross-origin access and `response.http.headers.config`, as Jetty's filters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from email.utils import formatdate
from typing import Final, NamedTuple

from kafkapy.common.config_def import ConfigException
from kafkapy.common.time import SystemTime, Time
from kafkapy.http.messages import HttpAnswer, HttpRequest

ORIGINS: Final = "access.control.allow.origin"
METHODS: Final = "access.control.allow.methods"
HEADERS: Final = "response.http.headers.config"
_ALLOWED_HEADERS: Final = "X-Requested-With,Content-Type,Accept,Origin"
_MAX_AGE_S: Final = "1800"
_ACTIONS: Final = ("set", "add", "setDate", "addDate")
_PART: Final = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^,"]*))\s*(?:,|$)')

Headers = tuple[tuple[str, str], ...]


class CrossOriginRules(NamedTuple):
    """Which pages of other origins a browser lets read the responses (`access.control.allow.*`).

    Attributes:
        origins: Allowed origins, `*` stands for any text. Empty: no page of another origin.
        methods: Allowed methods.

    Example:
        >>> rules = CrossOriginRules(("http://*.example.com",), ("GET",))
        >>> dict(rules.headers("http://a.example.com"))["access-control-allow-origin"]
        'http://a.example.com'
    """

    origins: Sequence[str]
    methods: Sequence[str]

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> CrossOriginRules:
        """Return the rules of a worker's properties."""
        methods = _words(properties.get(METHODS, ""))
        return cls(_words(properties.get(ORIGINS, "")), methods or ("GET", "POST", "HEAD"))

    def headers_for(self, request: HttpRequest) -> Headers:
        """Return the headers that a response to this request gets."""
        origin = request.headers.get("origin")
        if not origin or not any(self._matches(pattern, each) for pattern in self.origins for each in origin.split()):
            return ()
        wanted = request.headers.get("access-control-request-method")
        if request.method == "OPTIONS" and wanted is not None:
            return self._preflight(origin, wanted, request.headers.get("access-control-request-headers", ""))
        return self.headers(origin)

    def headers(self, origin: str) -> Headers:
        """Return the headers for an allowed origin."""
        vary = () if "*" in self.origins else (("vary", "Origin"),)
        return (("access-control-allow-origin", origin), *vary, ("access-control-allow-credentials", "true"))

    def _preflight(self, origin: str, method: str, names: str) -> Headers:
        known = _ALLOWED_HEADERS.lower().split(",")
        if method not in self.methods or any(name.lower() not in known for name in _words(names)):
            return ()
        return (
            *self.headers(origin),
            ("access-control-max-age", _MAX_AGE_S),
            ("access-control-allow-methods", ",".join(self.methods)),
            ("access-control-allow-headers", _ALLOWED_HEADERS),
        )

    @staticmethod
    def _matches(pattern: str, origin: str) -> bool:
        return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), origin) is not None


class _Header(NamedTuple):
    action: str
    name: str
    value: str


class ResponseHeaders:
    """Adds headers to each response of a worker's listeners; those of `admin.listeners` get none, as in Kafka.

    Example:
        >>> made = ResponseHeaders.of({"response.http.headers.config": "set Cache-Control: no-cache"})
        >>> made.added(HttpAnswer(204), HttpRequest("GET", "/", (), {}, {}, b"")).headers
        (('Cache-Control', 'no-cache'),)
    """

    def __init__(self, rules: CrossOriginRules, headers: Sequence[_Header], time: Time | None = None) -> None:
        self._rules = rules
        self._headers = headers
        self._time = time or SystemTime()

    @classmethod
    def of(cls, properties: Mapping[str, str], time: Time | None = None) -> ResponseHeaders:
        """Return the headers that a worker's properties ask for.

        Args:
            properties: The worker's.
            time: The clock. Default: the system's.

        Raises:
            ConfigException: `response.http.headers.config` has a wrong form.
        """
        return cls(CrossOriginRules.of(properties), _parsed(properties.get(HEADERS, "")), time)

    def added(self, answer: HttpAnswer, request: HttpRequest) -> HttpAnswer:
        """Return the response with the headers."""
        extra = [*self._rules.headers_for(request)]
        for action, name, value in self._headers:
            if action.startswith("set"):
                extra = [each for each in extra if each[0].lower() != name.lower()]
            extra.append((name, self._date_after(value) if action.endswith("Date") else value))
        return answer._replace(headers=(*answer.headers, *extra)) if extra else answer

    def _date_after(self, milliseconds: str) -> str:
        return formatdate((self._time.milliseconds() + int(milliseconds)) / 1000, usegmt=True)


def _parsed(text: str) -> list[_Header]:
    """Parse `set Name: value, "add Name: value with, commas", setDate Expires: 60000`. Raises ConfigException."""
    found = []
    at = 0
    while at < len(text):
        match = _PART.match(text, at)
        if match is None or match.end() == at:
            raise _wrong(text[at:], "a part is quoted wrongly")
        at = match.end()
        part = re.sub(r"\\(.)", r"\1", match[1]) if match[1] is not None else match[2].strip()
        action, _, rest = part.strip().partition(" ")
        name, colon, value = rest.partition(":")
        if action not in _ACTIONS:
            raise _wrong(part, f"it begins with one of {', '.join(_ACTIONS)}")
        if not colon or not name.strip() or " " in name.strip():
            raise _wrong(part, "`Name: value` follows the action")
        if action.endswith("Date") and re.fullmatch(r"-?\d{1,15}", value.strip()) is None:
            raise _wrong(part, "the value is a number of ms from now")
        found.append(_Header(action, name.strip(), value.strip()))
    return found


def _wrong(part: str, why: str) -> ConfigException:
    return ConfigException.invalid(HEADERS, part, why)


def _words(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
