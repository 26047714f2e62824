"""The admin client: everything that is asked of a cluster besides producing and consuming."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkapy.admin.cluster import ClusterOperations
from kafkapy.admin.configs import ConfigOperations
from kafkapy.admin.groups import GroupOperations
from kafkapy.admin.partitions import PartitionOperations
from kafkapy.admin.quotas import QuotaOperations
from kafkapy.admin.replicas import ReplicaOperations
from kafkapy.admin.topics import TopicOperations
from kafkapy.protocol.errors import Errors, KafkaError

_INTEGERS = (
    "request.timeout.ms",
    "default.api.timeout.ms",
    "retry.backoff.ms",
    "retry.backoff.max.ms",
    "socket.connection.setup.timeout.ms",
)


class AdminClient(
    TopicOperations,
    PartitionOperations,
    ReplicaOperations,
    ConfigOperations,
    GroupOperations,
    ClusterOperations,
    QuotaOperations,
):
    """A blocking admin client (after Kafka's `Admin`). Not thread-safe; a context manager.

    An operation on many things returns a dict of thing -> value or `KafkaError`; `values_of` and `value_of` of
    `cluster_client` raise them. Whatever hits the operation as a whole is raised as `KafkaError`.
    """

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> AdminClient:
        """From Kafka's admin client configs. Raises `KafkaError(INVALID_CONFIG)`.

        Keys that this client does not act on (buffer sizes, metrics ...) are left aside.
        """
        protocol = properties.get("security.protocol", "PLAINTEXT")
        if protocol != "PLAINTEXT":
            raise KafkaError(
                Errors.INVALID_CONFIG,
                f"security.protocol={protocol} is not supported: this client speaks PLAINTEXT only",
            )
        arguments: dict[str, Any] = {
            key.replace(".", "_"): _integer(key, properties[key]) for key in _INTEGERS if key in properties
        }
        return cls(
            properties.get("bootstrap.servers", ""),
            client_id=properties.get("client.id", "adminclient-1"),
            **arguments,
        )


def _integer(key: str, text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise KafkaError(
            Errors.INVALID_CONFIG, f"Invalid value {text} for configuration {key}: Not a number of type INT"
        ) from None
    if value < 0:
        raise KafkaError(
            Errors.INVALID_CONFIG, f"Invalid value {text} for configuration {key}: Value must be at least 0"
        )
    return value
