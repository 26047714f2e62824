"""Checks whether a source supports the exactly-once settings of its config (KIP-618)."""

from __future__ import annotations

import logging
from typing import Any

from kafkapy.connect.config.config_def import ConfigValue
from kafkapy.connect.herder.infos import Config
from kafkapy.connect.source import ConnectorTransactionBoundaries, ExactlyOnceSupport

log = logging.getLogger("kafkapy.connect.herder")


def check_support(connector: Any, config: Config, about: ConfigValue, is_enabled: bool) -> None:
    """Add an error if `exactly.once.support=required` is not supported.

    Args:
        connector: The source.
        config: Its config.
        about: The validation result of `exactly.once.support`. is_enabled: Whether the worker has exactly-once
            support.
    """
    if about.errors or str(about.value).strip().upper() != "REQUIRED":
        return
    if not is_enabled:
        about.errors.append("This worker does not have exactly-once source support enabled.")
    try:
        support = connector.exactly_once_support(config)
    except Exception as error:
        about.errors.append(_unexpected(error))
        return
    if support is None:
        about.errors.append(
            "The connector does not implement the API required for preflight validation of exactly-once source support. "
            "Please consult the documentation for the connector to determine whether it supports exactly-once semantics, "
            'and then consider reconfiguring the connector to use the value "requested" for this property (which will '
            "disable this preflight check and allow the connector to be created)."
        )
    elif support is ExactlyOnceSupport.UNSUPPORTED:
        about.errors.append("The connector does not support exactly-once semantics with the provided configuration.")


def check_boundary(connector: Any, config: Config, about: ConfigValue) -> None:
    """Add an error if `transaction.boundary=connector` is not supported. `about`: its validation result."""
    if about.errors or str(about.value).strip().upper() != "CONNECTOR":
        return
    try:
        boundaries = connector.can_define_transaction_boundaries(config)
    except Exception as error:
        about.errors.append(_unexpected(error))
        return
    if boundaries is None:
        about.errors.append(
            "This connector has returned a null value from its canDefineTransactionBoundaries method, which is not "
            "permitted. The connector will be treated as if it cannot define its own transaction boundaries, and cannot be "
            "configured with 'transaction.boundary' set to 'connector'."
        )
    elif boundaries is not ConnectorTransactionBoundaries.SUPPORTED:
        about.errors.append(
            "The connector does not support connector-defined transaction boundaries with the given configuration. Please "
            "reconfigure it to use a different transaction boundary definition."
        )


def _unexpected(error: Exception) -> str:
    log.error("A connector's check for exactly-once support failed: %s", error)
    message = str(error).strip()
    text = "An unexpected error occurred during validation"
    return f"{text}: {message}" if message else f"{text}; please see the worker logs for more details."
