"""Creates the clients of a stream thread from the application's configuration (Kafka's
`DefaultKafkaClientSupplier`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kafkapy.admin.client import AdminClient
from kafkapy.consumer import KafkaConsumer
from kafkapy.producer import KafkaProducer
from kafkapy.streams.config import StreamsConfig

_STREAMS_CONSUMER: Final[Mapping[str, Any]] = {
    "max.poll.records": 1000,
    "auto.offset.reset": "earliest",
}


class StreamsClients:
    """Converts configs with Kafka's names into client options with kafka-python's names, and creates the clients.

    A config applies to all clients that have such an option. With the prefix `consumer.`, `main.consumer.`,
    `restore.consumer.`, `global.consumer.`, `producer.` or `admin.` it applies to these clients only and takes
    precedence.

    Args:
        config: The application's configuration.
    """

    def __init__(self, config: StreamsConfig) -> None:
        self._config = config

    def main_consumer(self, client_id: str, assignor: Any, thread: int = 1) -> KafkaConsumer[Any, Any]:
        """Create the consumer of a thread, a member of the application's group. As in Java, a static member's id
        contains the number of the thread."""
        options = self._options(KafkaConsumer.DEFAULT_CONFIG, _STREAMS_CONSUMER, "consumer.", "main.consumer.")
        options |= {
            "client_id": f"{client_id}-consumer",
            "group_id": self._config.application_id,
            "enable_auto_commit": False,
            "partition_assignment_strategy": [assignor],
            "allow_auto_create_topics": False,
        }
        if options.get("group_instance_id"):
            options["group_instance_id"] = f"{options['group_instance_id']}-{thread}"
        return KafkaConsumer(**self._isolated(options))

    def restore_consumer(self, client_id: str) -> KafkaConsumer[Any, Any]:
        """Create the consumer of changelogs."""
        options = self._options(KafkaConsumer.DEFAULT_CONFIG, _STREAMS_CONSUMER, "consumer.", "restore.consumer.")
        options |= {"client_id": f"{client_id}-restore-consumer", "group_id": None, "enable_auto_commit": False}
        options["auto_offset_reset"] = "none"
        return KafkaConsumer(**self._isolated(options))

    def global_consumer(self, client_id: str) -> KafkaConsumer[Any, Any]:
        """Create the consumer of global tables."""
        options = self._options(KafkaConsumer.DEFAULT_CONFIG, _STREAMS_CONSUMER, "consumer.", "global.consumer.")
        options |= {"client_id": f"{client_id}-global-consumer", "group_id": None, "enable_auto_commit": False}
        options["auto_offset_reset"] = "none"
        return KafkaConsumer(**self._isolated(options))

    def producer(self, client_id: str, transactional_id: str | None) -> KafkaProducer[Any, Any]:
        """Create the producer of a thread; with exactly-once it is transactional."""
        options = self._options(KafkaProducer.DEFAULT_CONFIG, {"linger.ms": 100}, "producer.")
        options |= {"client_id": f"{client_id}-producer", "enable_idempotence": True}
        if transactional_id is not None:
            options["transactional_id"] = transactional_id
            options.setdefault("transaction_timeout_ms", 10_000)
        return KafkaProducer(**options)

    def admin(self, client_id: str) -> AdminClient:
        """Create the admin client of an instance."""
        security = security_options(self._properties({}, "admin."))
        return AdminClient(self._config.bootstrap_servers, client_id=f"{client_id}-admin", **security)

    def _isolated(self, options: dict[str, Any]) -> dict[str, Any]:
        if self._config.exactly_once:
            options["isolation_level"] = "read_committed"
        return options

    def _options(self, known: Mapping[str, Any], defaults: Mapping[str, Any], *prefixes: str) -> dict[str, Any]:
        properties = self._properties(defaults, *prefixes)
        options = {}
        for name, value in properties.items():
            option = name.replace(".", "_")
            if option in known:
                options[option] = _typed(value, known[option])
        options |= security_options(properties)
        options["bootstrap_servers"] = self._config.bootstrap_servers
        return options

    def _properties(self, defaults: Mapping[str, Any], *prefixes: str) -> dict[str, Any]:
        originals = self._config.originals
        properties: dict[str, Any] = {**defaults, **originals}
        for prefix in prefixes:
            properties |= {name[len(prefix) :]: value for name, value in originals.items() if name.startswith(prefix)}
        return properties


def security_options(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the TLS and SASL options by kafka-python's names, from configs by Kafka's or kafka-python's names.

    Example:
        >>> security_options({"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.location": "ca.pem"})
        {'security_protocol': 'SSL', 'ssl_cafile': 'ca.pem'}

    Raises:
        KafkaConfigurationError: A value is invalid or unusable.
    """
    from kafkapy.clients.java_properties import COMMON, arguments_of

    own = {name: value for name, value in properties.items() if name.startswith(("ssl_", "sasl_", "security_"))}
    if own:
        java = {
            "security_protocol": properties.get("security.protocol"),
            "sasl_mechanism": properties.get("sasl.mechanism"),
        }
        return {**{name: value for name, value in java.items() if value is not None}, **own}
    configs = {
        name: str(properties[name])
        for name in COMMON
        if name in properties and name.startswith(("ssl.", "sasl.", "security."))
    }
    return arguments_of(COMMON, configs)[0] if configs else {}


def _typed(value: Any, default: Any) -> Any:
    """Convert a text of a properties file to the type of the option's default."""
    if not isinstance(value, str):
        return value
    if isinstance(default, bool):
        return value.strip().lower() == "true"
    if isinstance(default, (int, float)) and not isinstance(default, bool):
        return float(value) if "." in value else int(value)
    return value
