"""Checks `tasks.max` (KIP-1004)."""

from __future__ import annotations

import logging

from kafkapy.connect.errors import ConnectException

log = logging.getLogger("kafkapy.connect.runtime")


class TooManyTasksException(ConnectException):
    """A connector has returned more task configs than `tasks.max`, and `tasks.max.enforce` is true."""

    java_class = "org.apache.kafka.connect.runtime.TooManyTasksException"


def check_tasks_max(connector: str, made: int, most: int, enforce: bool) -> None:
    """Compare the number of tasks with `tasks.max`; without `enforce` only log a warning. Raises
    TooManyTasksException."""
    if made <= most:
        return
    if not enforce:
        log.warning("Connector %s makes %d tasks, more than its tasks.max of %d: a fault of its", connector, made, most)
        return
    raise TooManyTasksException(
        f"The connector {connector} has generated {made} tasks, which is greater than {most}, the maximum number of tasks "
        "it is configured to create. This behaviour should be considered a bug and is disallowed. If necessary, it can be "
        "permitted by reconfiguring the connector with 'tasks.max.enforce' set to false; however, this option will be "
        "removed in a future release of Kafka Connect."
    )
