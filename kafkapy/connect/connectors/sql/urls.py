"""JDBC URLs as URLs of SQLAlchemy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, quote, unquote

from kafkapy.common.config_def import ConfigException

_URL: Final = "connection.url"


class SqlDriver(NamedTuple):
    """A kind of database.

    Attributes:
        scheme: Of SQLAlchemy's URLs.
        package: The driver's name when it is imported; "": Python's own.
        is_in_extra: Whether the extra `connect-sql` installs the driver.
    """

    scheme: str
    package: str
    is_in_extra: bool


DRIVERS: Final[Mapping[str, SqlDriver]] = {
    "postgresql": SqlDriver("postgresql+psycopg", "psycopg", True),
    "mysql": SqlDriver("mysql+pymysql", "pymysql", True),
    "mariadb": SqlDriver("mariadb+pymysql", "pymysql", True),
    "sqlite": SqlDriver("sqlite", "", True),
    "sqlserver": SqlDriver("mssql+pymssql", "pymssql", False),
    "oracle": SqlDriver("oracle+oracledb", "oracledb", False),
}
"""By the names in JDBC URLs."""
_BY_SQLALCHEMY: Final = {"mssql": "sqlserver"}
_DIALECTS: Final = {
    "postgresqldatabasedialect": "postgresql",
    "mysqldatabasedialect": "mysql",
    "sqlitedatabasedialect": "sqlite",
    "sqlserverdatabasedialect": "sqlserver",
    "oracledatabasedialect": "oracle",
    "mariadbdatabasedialect": "mariadb",
}
_SQLSERVER: Final = re.compile(r"//([^;:/\\]+)(?::(\d+))?((?:;[^;]*)*)")
_ORACLE: Final = re.compile(r"thin:@(?://)?([^:/]+)(?::(\d+))?([:/])([^?]+)")
_TLS_MODES: Final = {"true": "require", "false": "disable"}


class DatabaseUrl(NamedTuple):
    """Where a database is.

    Attributes:
        kind: A key of `DRIVERS`.
        url: For SQLAlchemy, without user and password if the config has them.
        user: From the URL's query; None: it has none.
        password: From the URL's query; None: it has none.
        options: More arguments of the driver's `connect`.
    """

    kind: str
    url: str
    user: str | None
    password: str | None
    options: Mapping[str, str]


def parse_url(text: str, dialect: str = "") -> DatabaseUrl:
    """Read `connection.url`.

    Args:
        text: A URL of JDBC, or of SQLAlchemy.
        dialect: `dialect.name`. Default: the URL's.

    Raises:
        ConfigException: There is no driver for it, or a part is missing or not supported.

    Example:
        >>> parse_url("jdbc:postgresql://db:5432/shop?user=me").url
        'postgresql+psycopg://db:5432/shop'
    """
    if not text.startswith("jdbc:"):
        return _sqlalchemy_place(text)
    kind, _, rest = text[len("jdbc:") :].partition(":")
    if kind not in DRIVERS:
        raise ConfigException.invalid(_URL, _hidden(text), f"jdbc:{kind}: is not known; known are {', '.join(DRIVERS)}")
    wanted = _DIALECTS.get(dialect.lower(), kind)
    if wanted != kind and {wanted, kind} != {"mysql", "mariadb"}:
        raise ConfigException.invalid("dialect.name", dialect, f"the database of connection.url is {kind}")
    scheme = DRIVERS[kind].scheme
    if kind == "sqlite":
        path, _, query = rest.partition("?")
        _refuse_options(dict(parse_qsl(query)), ())
        return DatabaseUrl(kind, f"sqlite:///{path}", None, None, {})
    if kind == "sqlserver":
        return _sqlserver_place(scheme, text, rest)
    if kind == "oracle":
        return _oracle_place(scheme, text, rest)
    base, _, query = rest.partition("?")
    if not base.startswith("//"):
        base = f"//localhost/{base}"
    given = dict(parse_qsl(query, keep_blank_values=True))
    user, password = given.pop("user", None), given.pop("password", None)
    options = _postgresql_options(given) if kind == "postgresql" else _mysql_options(given)
    return DatabaseUrl(kind, f"{scheme}:{base}", user, password, options)


def _sqlalchemy_place(text: str) -> DatabaseUrl:
    scheme = text.partition(":")[0]
    name = scheme.partition("+")[0]
    kind = _BY_SQLALCHEMY.get(name, name)
    if "://" not in text or kind not in DRIVERS:
        remedy = f"expected jdbc:DATABASE:… or a URL of SQLAlchemy; databases are {', '.join(DRIVERS)}"
        raise ConfigException.invalid(_URL, _hidden(text), remedy)
    plain = DRIVERS[kind].scheme + text[len(scheme) :] if "+" not in scheme else text
    return DatabaseUrl(kind, plain, None, None, {})


def _postgresql_options(given: Mapping[str, str]) -> dict[str, str]:
    names = {
        "sslmode": "sslmode",
        "sslrootcert": "sslrootcert",
        "sslcert": "sslcert",
        "sslkey": "sslkey",
        "connectTimeout": "connect_timeout",
        "ApplicationName": "application_name",
        "options": "options",
    }
    _refuse_options(given, (*names, "currentSchema", "ssl"))
    options = {names[name]: value for name, value in given.items() if name in names}
    if "currentSchema" in given:
        options["options"] = f"{options.get('options', '')} -csearch_path={given['currentSchema']}".strip()
    if "ssl" in given:
        options.setdefault("sslmode", _TLS_MODES.get(given["ssl"].lower(), "require"))
    return options


def _mysql_options(given: Mapping[str, str]) -> dict[str, str]:
    """JDBC's options whose meaning this driver has anyway are accepted."""
    harmless = ("useSSL", "allowPublicKeyRetrieval", "rewriteBatchedStatements", "useUnicode", "characterEncoding")
    more = ("serverTimezone", "zeroDateTimeBehavior", "tinyInt1isBit", "useCursorFetch", "autoReconnect")
    _refuse_options(given, (*harmless, *more, "connectTimeout", "sslCa"))
    options = (
        {"connect_timeout": str(max(1, int(given["connectTimeout"]) // 1000))} if "connectTimeout" in given else {}
    )
    return {**options, **({"ssl_ca": given["sslCa"]} if "sslCa" in given else {})}


def _refuse_options(given: Mapping[str, str], known: tuple[str, ...]) -> None:
    if unknown := sorted(set(given) - set(known)):
        raise ConfigException(
            f"{_URL} has options that are not supported: {', '.join(unknown)}. Remove them, or use a URL of SQLAlchemy."
        )


def _sqlserver_place(scheme: str, text: str, rest: str) -> DatabaseUrl:
    match = _SQLSERVER.fullmatch(rest)
    if match is None:
        raise ConfigException.invalid(_URL, _hidden(text), "expected jdbc:sqlserver://HOST:PORT;databaseName=NAME")
    pairs = (part.partition("=") for part in match[3].split(";") if part)
    given = {name.lower(): value for name, _, value in pairs}
    user, password = given.pop("user", None), given.pop("password", None)
    database = given.pop("databasename", given.pop("database", ""))
    _refuse_options(given, ("encrypt", "trustservercertificate"))
    port = f":{match[2]}" if match[2] else ""
    return DatabaseUrl("sqlserver", f"{scheme}://{match[1]}{port}/{quote(database)}", user, password, {})


def _oracle_place(scheme: str, text: str, rest: str) -> DatabaseUrl:
    match = _ORACLE.fullmatch(rest)
    if match is None:
        raise ConfigException.invalid(_URL, _hidden(text), "expected jdbc:oracle:thin:@//HOST:PORT/SERVICE")
    name = "sid" if match[3] == ":" else "service_name"
    base = f"{scheme}://{match[1]}:{match[2] or 1521}/"
    url = f"{base}{quote(match[4])}" if name == "sid" else f"{base}?service_name={quote(unquote(match[4]))}"
    return DatabaseUrl("oracle", url, None, None, {})


def _hidden(text: str) -> str:
    """The URL without passwords, for messages."""
    return re.sub(r"(password=)[^&;]*|(://[^:/@]*:)[^@/]*(?=@)", r"\1\2***", text)
