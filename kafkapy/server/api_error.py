"""An error with a sentence of its own, as admin responses have it (Kafka's `ApiError`)."""

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
        """The error of a `KafkaError`; STALE_CONTROLLER_EPOCH if the controller has gone or moved meanwhile; REQUEST_TIMED_OUT if
        ZooKeeper was away for too long; anything else is UNKNOWN_SERVER_ERROR, whose text is not given away.

        A message that only repeats the error's own text is left out, as Kafka leaves it out.
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
