"""The proxy's error responses, with Confluent's codes."""

from __future__ import annotations

from kafkapy.errors import KafkaError
from kafkapy.protocol.errors import Errors


class RestRefusal(Exception):
    """An error response: HTTP status, Confluent's code, a message; `retry_after`: seconds."""

    def __init__(self, status: int, code: int, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.retry_after = retry_after


def topic_not_found(topic: str) -> RestRefusal:
    return RestRefusal(404, 40401, f"Topic not found: {topic}")


def partition_not_found(partition: int) -> RestRefusal:
    return RestRefusal(404, 40402, f"Partition {partition} not found.")


def instance_not_found() -> RestRefusal:
    return RestRefusal(404, 40403, "Consumer instance not found.")


def instance_exists() -> RestRefusal:
    return RestRefusal(
        409, 40902, "Consumer with specified consumer ID already exists in the specified consumer group."
    )


def format_mismatch() -> RestRefusal:
    return RestRefusal(
        406, 40601, "The requested embedded data format does not match the deserializer for this consumer instance"
    )


def already_subscribed() -> RestRefusal:
    return RestRefusal(409, 40903, "Subscription to topics, partitions or pattern are mutually exclusive.")


def not_assigned(topic: str, partition: int) -> RestRefusal:
    """Return the error for a partition that is not assigned, with the code for an illegal state of an instance."""
    return RestRefusal(409, 40903, f"No current assignment for partition {topic}-{partition}")


def key_schema_missing() -> RestRefusal:
    return RestRefusal(422, 42201, "Request includes keys but does not include key schema")


def value_schema_missing() -> RestRefusal:
    return RestRefusal(422, 42202, "Request includes values but does not include value schema")


def not_convertible(sentence: str) -> RestRefusal:
    return RestRefusal(422, 42203, f"Conversion of JSON to the schema's format failed: {sentence}")


def unprocessable(sentence: str) -> RestRefusal:
    return RestRefusal(422, 422, sentence)


def bad_request(sentence: str) -> RestRefusal:
    return RestRefusal(400, 400, sentence)


def registry_failed(sentence: str) -> RestRefusal:
    return RestRefusal(408, 40801, f"Schema registration or lookup failed: {sentence}")


def unreadable(sentence: str) -> RestRefusal:
    """Return the error for a record in another format than requested, with the code of Kafka's
    SerializationException."""
    return RestRefusal(408, 40801, sentence)


def config_not_found(name: str) -> RestRefusal:
    return RestRefusal(404, 404, f"Config {name} cannot be found.")


def not_found() -> RestRefusal:
    return RestRefusal(404, 404, "HTTP 404 Not Found")


def too_busy(sentence: str) -> RestRefusal:
    return RestRefusal(429, 42901, sentence, 1)


_CODES = {
    Errors.UNKNOWN_TOPIC_OR_PARTITION: (404, 40403),
    Errors.UNKNOWN_TOPIC_ID: (404, 40403),
    Errors.TOPIC_AUTHORIZATION_FAILED: (403, 40301),
    Errors.GROUP_AUTHORIZATION_FAILED: (403, 40301),
    Errors.CLUSTER_AUTHORIZATION_FAILED: (403, 40301),
    Errors.SASL_AUTHENTICATION_FAILED: (401, 40101),
    Errors.MESSAGE_TOO_LARGE: (413, 41301),
    Errors.RECORD_LIST_TOO_LARGE: (413, 41301),
    Errors.THROTTLING_QUOTA_EXCEEDED: (429, 42901),
} | dict.fromkeys(
    (
        Errors.INVALID_CONFIG,
        Errors.INVALID_GROUP_ID,
        Errors.INVALID_PARTITIONS,
        Errors.INVALID_RECORD,
        Errors.INVALID_REPLICA_ASSIGNMENT,
        Errors.INVALID_REPLICATION_FACTOR,
        Errors.INVALID_REQUEST,
        Errors.INVALID_TIMESTAMP,
        Errors.INVALID_TOPIC_EXCEPTION,
        Errors.OFFSET_METADATA_TOO_LARGE,
        Errors.POLICY_VIOLATION,
        Errors.SECURITY_DISABLED,
        Errors.TOPIC_ALREADY_EXISTS,
        Errors.TOPIC_DELETION_DISABLED,
        Errors.UNSUPPORTED_VERSION,
    ),
    (400, 40002),
)


def of_kafka(error: KafkaError) -> RestRefusal:
    """Convert a Kafka error: some have specific codes; the others 50003 if retriable, else 50002."""
    status, code = _CODES.get(error.error, (500, 50003 if getattr(error, "retriable", False) else 50002))
    if error.error is Errors.UNKNOWN_TOPIC_OR_PARTITION:
        return RestRefusal(status, code, "This server does not host this topic-partition.")
    return RestRefusal(status, code, str(error) or type(error).__name__)
