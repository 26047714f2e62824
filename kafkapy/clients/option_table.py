"""The options of the clients: the source of docs/client_options.md and of range checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, get_args

from kafkapy.clients import client_options as values
from kafkapy.errors import KafkaConfigurationError


class ClientOption(NamedTuple):
    """The documentation and the range of one option.

    `least`: the smallest number. `java`: Java's name, "": the same with dots, "-": none. `choices`: all values;
    `allowed`: a description of the values, if there are too many to list.
    """

    meaning: str
    least: float | None = None
    java: str = ""
    allowed: str = ""
    choices: tuple[Any, ...] = ()

    def java_name(self, name: str) -> str:
        return {"": name.replace("_", "."), "-": ""}.get(self.java, self.java)

    def range(self) -> str:
        if self.choices:
            return ", ".join(map(str, self.choices))
        return self.allowed if self.least is None else f"at least {self.least:g}"


OPTIONS: dict[str, ClientOption] = {
    "bootstrap_servers": ClientOption(
        "Where the cluster is asked for first: `host:port`, several as a list or with commas between; the"
        " port may be left out (9092).",
    ),
    "client_id": ClientOption("The client's name in the brokers' logs, quotas and metrics; producers make one up."),
    "request_timeout_ms": ClientOption("A broker that has not answered for so long is hung up on.", 0),
    "connections_max_idle_ms": ClientOption("An idle connection is closed after so long; -1: never.", -1),
    "reconnect_backoff_ms": ClientOption(
        "The first pause before a broker that could not be reached is tried again; it doubles.",
        0,
    ),
    "reconnect_backoff_max_ms": ClientOption("The longest such pause.", 0),
    "retry_backoff_ms": ClientOption("The first pause before a request is repeated; it doubles.", 0),
    "retry_backoff_max_ms": ClientOption("The longest such pause.", 0),
    "max_in_flight_requests_per_connection": ClientOption(
        "Requests that a broker may have to answer at a time; 5 at most for an idempotent producer.",
        1,
    ),
    "receive_message_max_bytes": ClientOption(
        "A response that claims to be larger ends the connection. A consumer takes more if its fetches may be larger.",
        1,
        "-",
    ),
    "receive_buffer_bytes": ClientOption("The socket's buffer; None: the system's default.", -1),
    "send_buffer_bytes": ClientOption("The socket's buffer; None: the system's default.", -1),
    "socket_options": ClientOption("Arguments of `socket.setsockopt`, one tuple each.", java="-"),
    "socket_connection_setup_timeout_ms": ClientOption(
        "How long the first attempt to connect may take; it doubles.", 0
    ),
    "socket_connection_setup_timeout_max_ms": ClientOption("How long any attempt may take.", 0),
    "metadata_max_age_ms": ClientOption("The cluster is asked anew after so long, though nothing seems wrong.", 0),
    "allow_auto_create_topics": ClientOption("May a broker make a topic that is asked for and not there?"),
    "client_dns_lookup": ClientOption("All addresses of a name are tried.", allowed="use_all_dns_ips"),
    "bootstrap_timeout_ms": ClientOption(
        "How long the constructor or `start` waits for the cluster's first answer.", 0, "-"
    ),
    "api_version": ClientOption(
        "The brokers' release, as `(2, 8)`: then they are not asked what they serve.",
        java="-",
        allowed="a release of Kafka, None",
    ),
    "security_protocol": ClientOption("How brokers are spoken to.", choices=get_args(values.SecurityProtocol)),
    "ssl_context": ClientOption("An `ssl.SSLContext` in place of the other ssl options.", java="-"),
    "ssl_check_hostname": ClientOption(
        "Must the broker's certificate be for the name that was connected to?",
        java="ssl.endpoint.identification.algorithm",
    ),
    "ssl_cafile": ClientOption(
        "A file of the certificates that are trusted; None: the system's.",
        java="ssl.truststore.location",
    ),
    "ssl_certfile": ClientOption("The client's own certificate, with its chain.", java="ssl.keystore.location"),
    "ssl_keyfile": ClientOption("The key of that, where it is in another file.", java="ssl.keystore.key"),
    "ssl_password": ClientOption("The password of that key.", java="ssl.key.password"),
    "ssl_crlfile": ClientOption("A file of certificates that were revoked.", java="-"),
    "ssl_ciphers": ClientOption("OpenSSL's list of ciphers.", java="ssl.cipher.suites"),
    "sasl_mechanism": ClientOption(
        "How the client authenticates itself.",
        choices=get_args(values.SaslMechanism),
    ),
    "sasl_plain_username": ClientOption("The user, for PLAIN and SCRAM.", java="sasl.jaas.config"),
    "sasl_plain_password": ClientOption("The password, for PLAIN and SCRAM.", java="sasl.jaas.config"),
    "sasl_token_auth": ClientOption(
        "Is the user the id of a delegation token, and the password its HMAC in Base64? For SCRAM.",
        java="sasl.jaas.config",
    ),
    "sasl_oauth_token_provider": ClientOption(
        "An object whose `token()` gives a token, for OAUTHBEARER; it is called in a thread.",
        java="sasl.login.callback.handler.class",
    ),
    "sasl_kerberos_service_name": ClientOption("The first part of the brokers' principal, for GSSAPI."),
    "sasl_kerberos_keytab": ClientOption(
        "A file with the client's key, for GSSAPI; None: the ticket cache serves.", java="sasl.jaas.config"
    ),
    "sasl_kerberos_principal": ClientOption("The client's principal, for GSSAPI.", java="sasl.jaas.config"),
    "metrics_num_samples": ClientOption("Windows of time that rates, averages and maxima are of.", 1),
    "metrics_sample_window_ms": ClientOption("How long each of them is.", 1),
    "metrics_enabled": ClientOption("Does `metrics()` give figures, or None?", java="-"),
    "metric_group_prefix": ClientOption("What the names of the groups of metrics begin with.", java="-"),
    # consumers
    "client_rack": ClientOption("Where the consumer is: it reads from a replica there, if brokers choose so."),
    "group_id": ClientOption("The group that shares the topics; None: no group, and no commits."),
    "group_instance_id": ClientOption(
        "A name that outlives the process: a member that comes back under it within session_timeout_ms causes no rebalance.",
        allowed="letters, digits, `.`, `_`, `-`",
    ),
    "key_deserializer": ClientOption("From the bytes of a key: a `Deserializer`, or a function."),
    "value_deserializer": ClientOption("From the bytes of a value: a `Deserializer`, or a function."),
    "deserialization_policy": ClientOption(
        "What becomes of a record that cannot be deserialized: `poll` raises, it is left out and logged, or a function is called "
        "with the RecordDeserializationError, and then it is left out.",
        java="-",
        allowed="raise, skip, a function",
    ),
    "enable_incremental_fetch_sessions": ClientOption(
        "Is only what has changed said in each fetch (KIP-227)?", java="-"
    ),
    "fetch_max_wait_ms": ClientOption("How long a broker waits for fetch_min_bytes.", 0),
    "fetch_min_bytes": ClientOption("What a broker waits for.", 0),
    "fetch_max_bytes": ClientOption("The most that a broker answers with; a larger batch comes alone.", 0),
    "max_partition_fetch_bytes": ClientOption("The most of one partition in it.", 0),
    "auto_offset_reset": ClientOption(
        "Where reading begins without a committed offset, or where that is gone.",
        choices=get_args(values.AutoOffsetReset),
    ),
    "enable_auto_commit": ClientOption("Are positions committed while the program polls, and when it closes?"),
    "auto_commit_interval_ms": ClientOption("How often.", 0),
    "default_offset_commit_callback": ClientOption(
        "Called with (offsets, response or error) after an automatic commit, and where `commit_async` is given none.",
        java="-",
    ),
    "check_crcs": ClientOption("Is the checksum of each batch looked at?"),
    "isolation_level": ClientOption(
        "Are records of open and aborted transactions left out?",
        choices=get_args(values.Isolation),
    ),
    "partition_assignment_strategy": ClientOption(
        "How the group deals out partitions: classes of `kafkapy.coordinator.assignors`, the preferred one first.",
    ),
    "max_poll_records": ClientOption("The most that one `poll` gives.", 1),
    "max_poll_interval_ms": ClientOption("A member that does not poll for so long leaves the group.", 0),
    "session_timeout_ms": ClientOption("Time without a heartbeat after which the coordinator removes a member.", 0),
    "heartbeat_interval_ms": ClientOption(
        "Interval of heartbeats to the coordinator; lower than session_timeout_ms.", 0
    ),
    "consumer_timeout_ms": ClientOption("Iteration ends when no record came for so long; -1: never.", -1, "-"),
    "exclude_internal_topics": ClientOption(
        "Are `__consumer_offsets` and its like left out where a pattern is subscribed to?",
    ),
    # producers
    "key_serializer": ClientOption("To the bytes of a key: a `Serializer`, or a function."),
    "value_serializer": ClientOption("To the bytes of a value: a `Serializer`, or a function."),
    "enable_idempotence": ClientOption("Are retried batches written once, in order? It needs acks=all."),
    "transactional_id": ClientOption("The producer's name over restarts; with it, there are transactions."),
    "transaction_timeout_ms": ClientOption("The coordinator aborts a transaction that is open for so long.", 0),
    "delivery_timeout_ms": ClientOption("A record that is not delivered so long after its batch was begun fails.", 0),
    "acks": ClientOption(
        "When a record counts as delivered: never asked (0), written by the leader (1), by all in-sync "
        "replicas (-1, all).",
        choices=get_args(values.Acks),
    ),
    "compression_type": ClientOption("How batches are compressed.", choices=(*get_args(values.CompressionName), None)),
    "retries": ClientOption("How often a batch is sent again, within delivery_timeout_ms.", 0),
    "batch_size": ClientOption(
        "The bytes of a batch that goes out at once. Left out, those that wait for a busy broker grow to 256 KiB.",
        0,
    ),
    "linger_ms": ClientOption("How long a batch waits for more records, though the broker has nothing to do.", 0),
    "partitioner": ClientOption(
        "Chooses the partition of a record that names none: a `Partitioner`, or a function of the key's "
        "bytes, all partitions and those with a leader.",
        java="partitioner.class",
    ),
    "buffer_memory": ClientOption("Bytes of records that may wait.", 1),
    "max_block_ms": ClientOption("How long `send` waits for memory, or for a topic to be known.", 0),
    "metadata_max_idle_ms": ClientOption(
        "A topic that nothing was sent to for so long is forgotten: its metadata is asked for again when there is a record.",
        5000,
    ),
    "max_request_size": ClientOption("The most that a record, or a request, may take.", 1),
}


def check_types(options: Mapping[str, Any], types: Mapping[str, str]) -> None:
    """Raise KafkaConfigurationError for a value that should be a string or a bool and isn't. `types`: annotations."""
    for name, value in options.items():
        if types[name] == "bool" and value not in (True, False):
            raise KafkaConfigurationError(f"{name} must be True or False; it is {value!r}")
        has_own_check = name.startswith("ssl_") or (
            name in OPTIONS and bool(OPTIONS[name].choices)
        )  # a file may be given as a path object
        is_text = types[name] in ("str", "str | None") and not has_own_check
        may_be_missing = name == "client_id" or types[name] == "str | None"
        if is_text and not (isinstance(value, str) or (value is None and may_be_missing)):
            raise KafkaConfigurationError(f"{name} must be a string; it is {value!r}")


def check_function(name: str, value: Any, method: str = "", kind: str = "function") -> None:
    """Raise KafkaConfigurationError unless the value is None, a function, or an object with the given method."""
    if value is None or callable(value) or (method and hasattr(value, method)):
        return
    raise KafkaConfigurationError(f"{name} must be a {kind}; it is {value!r}")


def check_ranges(options: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Raise KafkaConfigurationError for a value that is no number or is too small. Options with default None may be
    None."""
    for name, value in options.items():
        option = OPTIONS.get(name)
        if option is None or option.least is None or (value is None and defaults[name] is None):
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= option.least:
            kind = "number of milliseconds" if name.endswith("_ms") else "number"
            raise KafkaConfigurationError(f"{name} must be a {kind}, at least {option.least:g}; it is {value!r}")


def check_choice(name: str, value: Any) -> None:
    """Raise KafkaConfigurationError, with all choices and the most similar one, for a value that isn't a choice of the
    option."""
    choices = OPTIONS[name].choices
    if value in choices:
        return
    from difflib import get_close_matches

    words = {str(choice).lower(): choice for choice in choices}
    nearest = [words[word] for word in get_close_matches(str(value).lower(), words, 1) if isinstance(value, str)]
    hint = f" (did you mean {nearest[0]!r}?)" if nearest else ""
    raise KafkaConfigurationError(f"{name} must be one of {OPTIONS[name].range()}; it is {value!r}{hint}")


def unrecognized(unknown: Iterable[str], known: Iterable[str]) -> str:
    """Return a message that suggests a similar known option for each unknown one, if there is one."""
    from difflib import get_close_matches

    names = list(known)
    hints = []
    for name in sorted(unknown):
        of_java = [own for own in names if own in OPTIONS and OPTIONS[own].java_name(own) == name]
        nearest = of_java or get_close_matches(name.replace(".", "_").lower(), names, 1)
        if nearest:
            hints.append(f"{nearest[0]} for {name}")
    return f" (did you mean {', '.join(hints)}?)" if hints else ""
