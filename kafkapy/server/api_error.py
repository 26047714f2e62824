"""An error with a specific message, for admin responses (Kafka's `ApiError`)."""

from __future__ import annotations

from typing import NamedTuple

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.zk.errors import ControllerMovedError, ZooKeeperClientTimeoutError


class CloseConnection(Exception):
    """Raised by a handler whose only answer is to close the connection; its text is the reason."""


class ApiError(NamedTuple):
    error: Errors
    message: str | None = None

    @property
    def code(self) -> int:
        return self.error.code

    @classmethod
    def from_exception(cls, exception: Exception) -> ApiError:
        """Convert an exception.

        A `KafkaError` has its own error. If the controller has resigned or moved meanwhile, the error is
        STALE_CONTROLLER_EPOCH; if ZooKeeper was disconnected for too long, REQUEST_TIMED_OUT. All others are
        UNKNOWN_SERVER_ERROR, without the text, which may be confidential. As in Kafka, a message that only repeats the
        error's default text is omitted.
        """
        if isinstance(exception, ControllerMovedError):
            return cls(Errors.STALE_CONTROLLER_EPOCH, str(exception))
        if isinstance(exception, ZooKeeperClientTimeoutError):
            return cls(Errors.REQUEST_TIMED_OUT)
        if not isinstance(exception, KafkaError):
            return cls(Errors.UNKNOWN_SERVER_ERROR)
        own_text = exception.error is Errors.UNKNOWN_SERVER_ERROR or exception.message == exception.error.message
        return cls(exception.error, None if own_text else exception.message)


NO_ERROR = ApiError(Errors.NONE)
