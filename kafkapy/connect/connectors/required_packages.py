"""Packages that only some connectors need."""

from __future__ import annotations

from kafkapy.common.extras import MissingExtra, need
from kafkapy.connect.errors import ConnectException


def require(extra: str, package: str, by: str) -> None:
    """Check that a package is installed.

    Args:
        extra: The extra of kafkapy that installs it.
        package: Its name when it is imported.
        by: What needs it.

    Raises:
        ConnectException: It is missing; the message has the command that installs it.
    """
    try:
        need(extra, package, by=by)
    except MissingExtra as error:
        raise ConnectException(str(error)) from error
