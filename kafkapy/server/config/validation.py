"""Checks that broker configs are consistent (Kafka's `KafkaConfig.validateValues`), in Kafka's order."""

from __future__ import annotations

import math
import re

from kafkapy.common import metadata_version
from kafkapy.common.config_def import ConfigException
from kafkapy.server.config.config_values import ConfigValues
from kafkapy.server.config.password_configs import password_encoder
from kafkapy.zk.embedded.connect import EmbeddedConnect

_IMPORT_PATH = re.compile(r"[\w.]+[.:]\w+")
_HOST = re.compile(r"[0-9a-zA-Z\-%._:]*")
_ZOOKEEPER_SERVER = re.compile(r"(?:\[[0-9a-fA-F:.%]+\]|[^\s:/\[\]]+)(?::([0-9]{1,5}))?", re.ASCII)


def _require(condition: bool, sentence: str, advice: str = "") -> None:
    if not condition:
        raise ConfigException(sentence, advice)


def validate_mode(config: ConfigValues) -> None:
    """Refuse configs that require KRaft, because this broker supports only ZooKeeper mode."""
    _require(
        not config.process_roles,
        f"process.roles={','.join(config.process_roles)} asks for KRaft mode, but kafkapy runs in ZooKeeper mode only: "
        "remove process.roles and set zookeeper.connect.",
    )
    _require(
        not config.zookeeper_metadata_migration_enable,
        "zookeeper.metadata.migration.enable=true asks for a migration to KRaft, but kafkapy runs in ZooKeeper mode "
        "only: remove it.",
    )


def validate_values(config: ConfigValues) -> None:
    """Raise `ConfigException` if two configs are contradictory or one is missing."""
    _validate_identity(config)
    _validate_logs(config)
    _validate_replication(config)
    _validate_groups(config)
    _validate_listeners(config)
    _validate_versions(config)
    _validate_connections(config)
    password_encoder(config, config.password_encoder_secret)


def _validate_identity(config: ConfigValues) -> None:
    _require(config.node_id == config.broker_id, "You must set `node.id` to the same value as `broker.id`.")
    _require(
        config.raw_zookeeper_connect is not None,
        "Missing required configuration `zookeeper.connect` which has no default value.",
    )
    _validate_zookeeper_connect(config)
    if config.broker_id_generation_enable:
        _require(
            -1 <= config.broker_id <= config.reserved_broker_max_id,
            "broker.id must be greater than or equal to -1 and not greater than reserved.broker.max.id",
        )
    else:
        _require(config.broker_id >= 0, "broker.id must be greater than or equal to 0")


def _validate_zookeeper_connect(config: ConfigValues) -> None:
    try:
        if EmbeddedConnect.parse(config.zookeeper_connect, next(iter(config.log_dirs), "")) is not None:
            return
    except ValueError as error:
        raise ConfigException(str(error)) from None
    hosts, _, chroot = config.zookeeper_connect.partition("/")
    _require(
        all(_is_zookeeper_server(server) for server in hosts.split(","))
        and not {"", ".", ".."} & set(chroot.removesuffix("/").split("/") if chroot else ()),
        f"Invalid value {config.zookeeper_connect} for configuration zookeeper.connect: host:port,host:port/chroot is expected",
    )


def _is_zookeeper_server(server: str) -> bool:
    match = _ZOOKEEPER_SERVER.fullmatch(server.strip())
    return match is not None and (match[1] is None or 0 < int(match[1]) <= 65535)


def _validate_logs(config: ConfigValues) -> None:
    _require(config.log_roll_time_millis >= 1, "log.roll.ms must be greater than or equal to 1")
    _require(config.log_roll_time_jitter_millis >= 0, "log.roll.jitter.ms must be greater than or equal to 0")
    _require(
        config.log_retention_time_millis != 0,
        "log.retention.ms must be unlimited (-1) or, greater than or equal to 1",
    )
    _require(bool(config.log_dirs), "At least one log directory must be defined via log.dirs or log.dir.")
    _require(config.log_cleaner_threads >= 1, "log.cleaner.threads must be greater than or equal to 1")
    _require(
        config.log_cleaner_dedupe_buffer_size // config.log_cleaner_threads > 1024 * 1024,
        "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
    )
    _require(
        math.isfinite(config.log_cleaner_io_buffer_load_factor),
        f"log.cleaner.io.buffer.load.factor must be a number, it is {config.log_cleaner_io_buffer_load_factor}",
    )
    least, most = config.log_cleaner_min_compaction_lag_ms, config.log_cleaner_max_compaction_lag_ms
    _require(
        least <= most,
        f"conflict topic config setting min.compaction.lag.ms ({least}) > max.compaction.lag.ms ({most})",
    )


def _validate_replication(config: ConfigValues) -> None:
    _require(
        config.replica_fetch_wait_max_ms <= config.replica_socket_timeout_ms,
        "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms to prevent unnecessary socket "
        "timeouts",
    )
    _require(
        config.controller_socket_timeout_ms >= 0, "controller.socket.timeout.ms must be greater than or equal to 0"
    )
    _require(
        config.replica_fetch_wait_max_ms <= config.replica_lag_time_max_ms,
        "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms to prevent frequent "
        "changes in ISR",
    )


def _validate_groups(config: ConfigValues) -> None:
    _require(
        -1 <= config.offsets_commit_required_acks <= config.offsets_topic_replication_factor,
        "offsets.commit.required.acks must be greater or equal to -1 and less or equal to "
        "offsets.topic.replication.factor",
    )
    codec = config.offsets_topic_compression_codec
    _require(0 <= codec <= 4, f"Unknown compression type id: {codec}")
    protocols = [protocol.lower() for protocol in config.group_coordinator_rebalance_protocols]
    _require("classic" in protocols, "Disabling the 'classic' protocol is not supported.")
    _require("consumer" not in protocols, "The new 'consumer' rebalance protocol is only supported in KRaft cluster.")
    for kind in ("group.consumer", "group.share"):
        for what in ("heartbeat.interval.ms", "session.timeout.ms"):
            name, lowest, highest = f"{kind}.{what}", f"{kind}.min.{what}", f"{kind}.max.{what}"
            value, low, high = config.get(name), config.get(lowest), config.get(highest)
            _require(high >= low, f"{highest} must be greater than or equals to {lowest}")
            _require(value >= low, f"{name} must be greater than or equals to {lowest}")
            _require(value <= high, f"{name} must be less than or equals to {highest}")


def _validate_listeners(config: ConfigValues) -> None:
    _require(
        not config.controller_listener_names,
        f"controller.listener.names must be empty when not running in KRaft mode: [{config.controller_listener_names}]",
    )
    names = [end_point.listener_name for end_point in config.listeners]
    for name in (config.early_start_listeners or "").split(","):
        _require(
            not name.strip() or name.strip() in names,
            f"early.start.listeners contains listener {name.strip()}, but this is not contained in listeners or "
            "controller.listener.names",
        )
    advertised = [end_point.listener_name for end_point in config.advertised_listeners]
    options = f"The valid options based on currently configured listeners are {','.join(advertised)}"
    _require(bool(advertised), "There must be at least one broker advertised listener.")
    _require(
        config.inter_broker_listener_name in advertised,
        f"inter.broker.listener.name must be a listener name defined in advertised.listeners. {options}",
        f"Brokers speak to each other over the listener {config.inter_broker_listener_name}: set inter.broker.listener.name to "
        "one that there is",
    )
    _require(
        set(advertised) <= set(names),
        "advertised.listeners listener names must be equal to or a subset of the ones defined in listeners. "
        f"Found {','.join(advertised)}. The valid options based on the current configuration are {','.join(names)}",
    )
    _require(
        all(end_point.host != "0.0.0.0" for end_point in config.advertised_listeners),
        "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address.",
        "Clients connect to what advertised.listeners (or else listeners) names: a host name or address that they can reach",
    )
    control_plane = config.control_plane_listener_name
    if control_plane is not None:
        _require(
            control_plane in advertised,
            f"control.plane.listener.name must be a listener name defined in advertised.listeners. {options}",
        )
        _require(
            control_plane != config.inter_broker_listener_name,
            "control.plane.listener.name, when defined, should have a different value from the inter broker listener "
            f"name. Currently they both have the value ListenerName({control_plane})",
        )


def _validate_versions(config: ConfigValues) -> None:
    protocol_version, format_version = config.inter_broker_protocol_version, config.log_message_format_version
    if metadata_version.is_message_format_ignored(protocol_version):
        return
    record_version = metadata_version.record_version(format_version)
    needed = {0: "0.8.0", 1: "0.10.0", 2: "0.11.0"}[record_version]
    _require(
        metadata_version.record_version(protocol_version) >= record_version,
        f"log.message.format.version {format_version} can only be used when inter.broker.protocol.version is set to "
        f"version {needed} or higher",
    )


def _validate_connections(config: ConfigValues) -> None:
    if config.inter_broker_security_protocol.startswith("SASL"):
        mechanisms = config.listener_value(config.inter_broker_listener_name, "sasl.enabled.mechanisms")
        _require(
            config.sasl_mechanism_inter_broker_protocol in mechanisms,
            "sasl.mechanism.inter.broker.protocol must be included in sasl.enabled.mechanisms when SASL is used for "
            "inter-broker communication",
        )
    _require(
        config.queued_max_request_bytes <= 0 or config.queued_max_request_bytes >= config.socket_request_max_bytes,
        "queued.max.request.bytes must be larger or equal to socket.request.max.bytes",
    )
    overrides = config.max_connections_per_ip_overrides
    _require(
        config.max_connections_per_ip != 0 or bool(overrides),
        "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set.",
    )
    wrong = [address for address in overrides if not _HOST.fullmatch(address)]
    _require(not wrong, f"max.connections.per.ip.overrides contains invalid addresses : {','.join(wrong)}")
    delay, idle = config.connection_failed_authentication_delay_ms, config.connections_max_idle_ms
    _require(
        idle < 0 or delay < idle,
        f"connection.failed.authentication.delay.ms={delay} should always be less than connections.max.idle.ms={idle} "
        "to prevent failed authentication responses from timing out",
    )
    # Whether the class exists is checked when a listener is opened, not when configs are read.
    _require(
        bool(_IMPORT_PATH.fullmatch(config.principal_builder_class)),
        f"Invalid value {config.principal_builder_class} for configuration principal.builder.class: "
        f"Class {config.principal_builder_class} could not be found.",
    )
