"""Connections to MongoDB, and which of its errors pass."""

from __future__ import annotations

from typing import Any, Final

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.connectors.required_packages import require
from kafkapy.connect.errors import ConnectException

EXTRA: Final = "connect-mongodb"
DEFAULT_URI: Final = "mongodb://localhost:27017,localhost:27018,localhost:27019"
_SELECTION_MS: Final = 10_000
"""How long a request waits for a server, so that a task which is stopped ends soon."""
_REFUSED: Final = frozenset({13, 18, 8000})
"""Codes of credentials and rights."""


def connect(uri: str, *, checks_only: bool = False) -> Any:
    """Return a `pymongo.MongoClient`, which connects at its first request.

    Args:
        uri: As in `connection.uri`.
        checks_only: Whether only the URI is checked, and None returned.

    Raises:
        ConnectException: The package pymongo is missing.
        ConfigException: The URI is wrong.
    """
    require(EXTRA, "pymongo", "A connector to MongoDB")
    from pymongo import MongoClient
    from pymongo.errors import ConfigurationError, InvalidURI
    from pymongo.uri_parser import parse_uri

    options: dict[str, Any] = {"tz_aware": True, "appname": "kafkapy", "connect": False}
    if "serverselectiontimeoutms" not in uri.lower():
        options["serverSelectionTimeoutMS"] = _SELECTION_MS
    try:
        if checks_only:
            return None if uri.startswith("mongodb+srv://") else _nothing(parse_uri(uri))
        return MongoClient(uri, **options)
    except (InvalidURI, ConfigurationError, ValueError) as error:
        raise ConfigException(f"Invalid value for configuration connection.uri: {error}") from None


def _nothing(_: object) -> None:
    return None


def passes(error: BaseException) -> bool:
    """Return whether an error of pymongo may pass, so that the request should be repeated.

    Args:
        error: Of pymongo.
    """
    from pymongo.errors import ConnectionFailure, OperationFailure, PyMongoError, WaitQueueTimeoutError

    if isinstance(error, OperationFailure) and error.code in _REFUSED:
        return False
    if isinstance(error, ConnectionFailure | WaitQueueTimeoutError):
        return True
    return isinstance(error, PyMongoError) and (
        error.has_error_label("RetryableWriteError") or error.has_error_label("TransientTransactionError")
    )


def refusal(what: str, error: BaseException) -> ConnectException:
    """Return the error of a task for one of pymongo's; the password is not in it.

    Args:
        what: What has failed.
        error: Why.
    """
    return ConnectException(f"{what}: {str(error)[:2000] or type(error).__name__}")
