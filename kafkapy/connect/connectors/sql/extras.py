"""Packages that only connectors to SQL databases need."""

from __future__ import annotations

from kafkapy.common.extras import MissingExtra, need
from kafkapy.connect.errors import ConnectException

EXTRA = "connect-sql"


def require(package: str, by: str) -> None:
    """Check that a package is installed.

    Args:
        package: Its name when it is imported.
        by: What needs it.

    Raises:
        ConnectException: It is missing; the message has the command that installs it.
    """
    try:
        need(EXTRA, package, by=by)
    except MissingExtra as error:
        raise ConnectException(str(error)) from error
