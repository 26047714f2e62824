"""Errors of serializers, deserializers and the registry's client."""

from __future__ import annotations

from kafkapy.errors import ClientError, RetriableError


class SerdeError(ClientError):
    """A value, its bytes or its schema is invalid; a retry does not help."""


class SchemaSerializationError(SerdeError):
    """A value does not fit its schema."""


class SchemaDeserializationError(SerdeError):
    """Bytes do not follow the wire format, their schema is unknown, or they do not fit it."""


class SchemaRegistryError(SerdeError):
    """The registry has rejected a request, with `http_status_code`, `error_code` (the registry's, such as 40401),
    `error_message`."""

    def __init__(self, http_status_code: int, error_code: int, error_message: str, url: str = "") -> None:
        where = f" by {url}" if url else ""
        super().__init__(f"{error_message} (error code {error_code}, HTTP status {http_status_code}{where})")
        self.http_status_code = http_status_code
        self.error_code = error_code
        self.error_message = error_message
        self.url = url

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.http_status_code, self.error_code, self.error_message, self.url)


class SchemaRegistryUnavailableError(RetriableError):
    """No registry node has responded; the message has the last URL and the cause. May be retried."""
