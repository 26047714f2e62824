"""Parses JAAS configurations as Java does: `sasl.jaas.config` (Kafka's `JaasConfig`) and files (the JDK's
`ConfigFile`).

Values may be secrets, and a syntax error can make any word of the text part of one. So no error here quotes the text:
it names line and column, and what is expected there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

CONTROL_FLAGS: Final = ("required", "requisite", "sufficient", "optional")

DISALLOWED_LOGIN_MODULES: Final = (
    "com.sun.security.auth.module.JndiLoginModule",
    "com.sun.security.auth.module.LdapLoginModule",
)
"""The modules that Kafka 3.9.1 refuses by default (CVE-2023-25194, CVE-2025-27818)."""

_QUOTES_NEEDED = (
    "; what does not begin with a letter, or has other characters than letters, digits, '.', '-', '_' and '$', "
    "needs quotes"
)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPE = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
_BLANK = re.compile(r"(?:[\x00-\x20]+|//[^\r\n]*|/\*.*?\*/|/(?!\*)[^\r\n]*)+", re.DOTALL)
_QUOTED = {quote: re.compile(rf"{quote}((?:[^\\\r\n{quote}]|\\.)*)({quote}?)", re.DOTALL) for quote in "\"'"}
_WORD = re.compile(r"[A-Za-z_$*\xa0-\U0010ffff][A-Za-z0-9_$*.\-\xa0-\U0010ffff]*")
_PROPERTY = re.compile(r"\$\{([^}]*)\}")


class JaasConfigError(ValueError):
    """An invalid JAAS configuration. The message names the source, line, column and cause, and quotes no value."""


class LoginModule:
    """One login module with its options, immutable; `repr` shows no values, because they may be secrets.

    Args:
        name: The Java class, for example `org.apache.kafka.common.security.plain.PlainLoginModule`.
        control_flag: One of `CONTROL_FLAGS`.
        options: Option -> value.

    Example:
        >>> LoginModule("x.PlainLoginModule", "required", {"username": "alice", "password": "secret"})
        LoginModule(x.PlainLoginModule required, options: password, username)
    """

    __slots__ = ("control_flag", "name", "options")

    def __init__(self, name: str, control_flag: str, options: Mapping[str, str]) -> None:
        self.name = name
        self.control_flag = control_flag
        self.options = dict(options)

    def text(self) -> str:
        """Return the module as in `sasl.jaas.config`, including secrets.

        Example:
            >>> LoginModule("x.PlainLoginModule", "required", {"username": 'a"b'}).text()
            'x.PlainLoginModule required username="a\\\\"b";'
        """
        escaped = {
            name: value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            for name, value in self.options.items()
        }
        options = "".join(f' {name}="{value}"' for name, value in escaped.items())
        return f"{self.name} {self.control_flag}{options};"

    def __repr__(self) -> str:
        return f"LoginModule({self.name} {self.control_flag}, options: {', '.join(sorted(self.options)) or 'none'})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LoginModule):
            return NotImplemented
        return (self.name, self.control_flag, self.options) == (other.name, other.control_flag, other.options)

    __hash__ = None  # type: ignore[assignment]


def parse_jaas_config(text: str, source: str = "sasl.jaas.config") -> tuple[LoginModule, ...]:
    """Parse the value of `sasl.jaas.config`: `module flag option=value ...;`, once or more often (Kafka's
    `JaasConfig`).

    Args:
        text: The value.
        source: Its name in errors, for example the config's whole name.

    Raises:
        JaasConfigError: The text is not such a configuration.

    Example:
        >>> module, = parse_jaas_config('x.PlainLoginModule required username="alice" password="a\\\\"b";')
        >>> module.options["password"]
        'a"b'
    """
    tokens = _Tokens(text, source)
    modules = []
    while not tokens.at_end():
        modules.append(_module(tokens, None))
    if not modules:
        raise JaasConfigError(f"{source}: it names no login module")
    return tuple(modules)


def parse_jaas_file(
    text: str, source: str = "the JAAS file", properties: Mapping[str, str] | None = None
) -> dict[str, tuple[LoginModule, ...]]:
    """Parse a JAAS file: sections `Name { module flag option=value ...; ... };` (the JDK's `ConfigFile`).

    Args:
        text: The file's text.
        source: Its name in errors, for example the file's path.
        properties: The values of `${name}` (Java's system properties). Default: none are defined.

    Returns:
        Section -> its modules, in the file's order.

    Raises:
        JaasConfigError: The text is not such a file, two sections have the same name, or a property is not defined.

    Example:
        >>> sections = parse_jaas_file('KafkaServer { x.ScramLoginModule required; };')
        >>> sections["KafkaServer"]
        (LoginModule(x.ScramLoginModule required, options: none),)
    """
    tokens = _Tokens(text, source)
    sections: dict[str, tuple[LoginModule, ...]] = {}
    while not tokens.at_end():
        name = tokens.word("the name of a section")
        if name.text in sections:
            raise tokens.error("a section of this name is there already", name)
        tokens.symbol("{")
        modules = []
        while not tokens.take("}"):
            modules.append(_module(tokens, properties or {}))
        tokens.symbol(";")
        sections[name.text] = tuple(modules)
    return sections


def server_section(
    sections: Mapping[str, tuple[LoginModule, ...]], listener_name: str, source: str = "the JAAS file"
) -> tuple[LoginModule, ...]:
    """Return the modules of a listener: those of `listener.KafkaServer` (lower case) if the file has it, else of
    `KafkaServer`.

    Raises:
        JaasConfigError: The file has neither.
    """
    for name in (f"{listener_name.lower()}.KafkaServer", "KafkaServer"):
        if name in sections:
            return sections[name]
    raise JaasConfigError(
        f"{source}: there is no section 'KafkaServer' or '{listener_name.lower()}.KafkaServer' for listener {listener_name}"
    )


def single_module(modules: Sequence[LoginModule], source: str = "sasl.jaas.config") -> LoginModule:
    """Return the single module that a `sasl.jaas.config` must have.

    Raises:
        JaasConfigError: There are more.
    """
    if len(modules) != 1:
        raise JaasConfigError(
            f"{source}: JAAS config property contains {len(modules)} login modules, should be 1 module"
        )
    return modules[0]


def check_allowed(modules: Iterable[LoginModule], source: str) -> None:
    """Refuse the modules that Kafka refuses.

    Raises:
        JaasConfigError: One of them is in `DISALLOWED_LOGIN_MODULES`.
    """
    for module in modules:
        if module.name.strip() in DISALLOWED_LOGIN_MODULES:
            raise JaasConfigError(f"{source}: {module.name.strip()} is not allowed")


def module_option(modules: Iterable[LoginModule], option: str, module_name: str | None = None) -> str | None:
    """Return the first value of an option (Kafka's `JaasContext.configEntryOption`).

    Args:
        modules: The modules to search.
        option: Its name.
        module_name: Search only modules of this class. Default: all.
    """
    for module in modules:
        if module_name in (None, module.name) and option in module.options:
            return module.options[option]
    return None


class _Token(NamedTuple):
    text: str
    start: int
    is_word: bool
    """False: one of `{};=`, or an invalid character."""
    open_quote: bool = False


class _Tokens:
    """The tokens of a text: words and symbols. `_at` is the position after the last one.

    As in Java's StreamTokenizer, numbers are not words, and the end of a line closes a quote.
    """

    def __init__(self, text: str, source: str) -> None:
        self._text = text
        self._source = source
        self._at = 0
        self._open_quote: _Token | None = None

    def at_end(self) -> bool:
        self._skip_blank()
        return self._at >= len(self._text)

    def take(self, symbol: str) -> bool:
        """Consume this symbol, if it comes next."""
        self._skip_blank()
        if self._at < len(self._text) and self._text[self._at] == symbol:
            self._at += 1
            return True
        return False

    def symbol(self, symbol: str) -> None:
        token = self._next()
        if token is None or token.is_word or token.text != symbol:
            raise self.error(f"expected '{symbol}'", token)

    def word(self, what: str) -> _Token:
        token = self._next()
        if token is None or not token.is_word:
            hint = "" if token is None or token.text in "{};=" else _QUOTES_NEEDED
            raise self.error(f"expected {what}{hint}", token)
        return token

    def error(self, cause: str, token: _Token | None) -> JaasConfigError:
        """`token` None: the text has ended."""
        if token is None:
            if self._open_quote is not None:
                cause += f"; the quote that opens in {self._place(self._open_quote.start)} is not closed"
            return JaasConfigError(f"{self._source}: {cause}, but the text ends in {self._place(len(self._text))}")
        return JaasConfigError(f"{self._source}, {self._place(token.start)}: {cause}")

    def _place(self, position: int) -> str:
        before = self._text[:position]
        return f"line {before.count(chr(10)) + 1}, column {position - before.rfind(chr(10))}"

    def _skip_blank(self) -> None:
        if blank := _BLANK.match(self._text, self._at):
            self._at = blank.end()

    def _next(self) -> _Token | None:
        if self.at_end():
            return None
        start = self._at
        first = self._text[start]
        if first in _QUOTED:
            match = _QUOTED[first].match(self._text, start)
            assert match is not None
            token = _Token(_unescaped(match[1]), start, is_word=True, open_quote=not match[2])
            if token.open_quote:
                self._open_quote = token
            self._at = match.end()
        elif match := _WORD.match(self._text, start):
            token = _Token(match[0], start, is_word=True)
            self._at = match.end()
        else:
            token = _Token(first, start, is_word=False)
            self._at += 1
        return token


def _module(tokens: _Tokens, properties: Mapping[str, str] | None) -> LoginModule:
    """Parse one module, up to its `;`. `properties` None: `${...}` is not replaced."""
    name = tokens.word("the class of a login module")
    flag = tokens.word("a control flag (required, requisite, sufficient or optional)")
    if flag.text.lower() not in CONTROL_FLAGS:
        raise tokens.error("the control flag must be required, requisite, sufficient or optional", flag)
    options: dict[str, str] = {}
    while not tokens.take(";"):
        option = tokens.word("an option or ';'")
        tokens.symbol("=")
        value = tokens.word("the value of an option")
        options[option.text] = value.text if properties is None else _expanded(tokens, value, properties)
    return LoginModule(name.text, flag.text.lower(), options)


def _expanded(tokens: _Tokens, value: _Token, properties: Mapping[str, str]) -> str:
    def property_of(match: re.Match[str]) -> str:
        if match[1] == "/":
            return "/"
        if match[1] not in properties:
            raise tokens.error("the value refers to a property that is not set", value)
        return properties[match[1]]

    return _PROPERTY.sub(property_of, value.text)


def _unescaped(quoted: str) -> str:
    def character(match: re.Match[str]) -> str:
        escaped = match[1]
        return chr(int(escaped, 8)) if escaped[0] in "01234567" else _ESCAPES.get(escaped, escaped)

    return _ESCAPE.sub(character, quoted)


def user_passwords(modules: Iterable[LoginModule], module_name: str) -> Iterator[tuple[str, str]]:
    """Yield the users of PLAIN: each `user_alice="secret"` of the modules of this class; the first of a name counts."""
    seen: set[str] = set()
    for module in modules:
        if module.name != module_name:
            continue
        for option, value in module.options.items():
            if option.startswith("user_") and option not in seen:
                seen.add(option)
                yield option.removeprefix("user_"), value
