"""Changes log levels by IncrementalAlterConfigs (KIP-412; Kafka's `RuntimeLoggerManager`); they are not stored."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from kafkapy.common import logger_levels
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.server.config.alter_operations import ConfigOp, OpType

log = logging.getLogger("kafkapy.server.ConfigAdminManager")


def validate_level_changes(ops: Sequence[ConfigOp]) -> None:
    """Raise `KafkaError` if a logger or level does not exist, or the operation is invalid."""
    for op in ops:
        if op.operation in (OpType.APPEND, OpType.SUBTRACT):
            raise KafkaError(
                Errors.INVALID_REQUEST,
                f"{OpType(op.operation).name} operation is not allowed for the BROKER_LOGGER resource",
            )
        if op.operation not in (OpType.SET, OpType.DELETE):
            raise KafkaError(Errors.UNKNOWN_SERVER_ERROR)  # as in Kafka
        if not logger_levels.exists(op.name):
            raise KafkaError(Errors.INVALID_CONFIG, f"Logger {op.name} does not exist!")
        if op.operation == OpType.SET and op.value not in logger_levels.LEVELS:
            raise KafkaError(
                Errors.INVALID_CONFIG,
                f"Cannot set the log level of {op.name} to {op.value} as it is not a supported log level. "
                f"Valid log levels are {', '.join(sorted(logger_levels.LEVELS))}",
            )
        if op.operation == OpType.DELETE and op.name == logger_levels.ROOT:
            raise KafkaError(Errors.INVALID_REQUEST, "Removing the log level of the root logger is not allowed")


def change_levels(ops: Sequence[ConfigOp]) -> None:
    """`ops` are valid."""
    for op in ops:
        if op.operation == OpType.SET:
            logger_levels.set_level(op.name, op.value or "")
            log.warning("Updated the log level of %s to %s", op.name, op.value)
        else:
            logger_levels.unset_level(op.name)
            log.warning("Unset the log level of %s", op.name)
