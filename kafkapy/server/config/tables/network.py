"""Listeners, connections and requests."""

from __future__ import annotations

from kafkapy.common.config_def import Importance, UpdateMode
from kafkapy.common.config_table import ConfigTable, config
from kafkapy.common.config_validators import OneOf, at_least
from kafkapy.common.limits import MAX_INT
from kafkapy.common.wire_enums import ConfigType

STRING, INT, LONG = ConfigType.STRING, ConfigType.INT, ConfigType.LONG
HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
PER_BROKER, CLUSTER_WIDE = UpdateMode.PER_BROKER, UpdateMode.CLUSTER_WIDE


class NetworkConfigs(ConfigTable):
    raw_advertised_listeners: str | None = config(
        STRING, None, None,
        "The addresses clients and brokers are given, where they differ from listeners; not 0.0.0.0.",
        HIGH, PER_BROKER, name="advertised.listeners")
    connection_failed_authentication_delay_ms: int = config(
        INT, 100, at_least(0),
        "Time before a connection that failed to authenticate is closed; less than connections.max.idle.ms.", LOW)
    connections_max_idle_ms: int = config(LONG, 600000, None, "How long a connection may be idle before it is closed.")
    raw_control_plane_listener_name: str | None = config(
        STRING, None, None,
        "A listener for the controller's requests alone, so that they never queue behind clients' requests.",
        HIGH, name="control.plane.listener.name")
    raw_inter_broker_listener_name: str | None = config(
        STRING, None, None,
        "The listener brokers and controller use among themselves; not together with "
        "security.inter.broker.protocol.", name="inter.broker.listener.name")
    raw_listener_security_protocol_map: str = config(
        STRING, "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT", None,
        "Security protocol of each listener name, `NAME:PROTOCOL,...`.",
        LOW, PER_BROKER, name="listener.security.protocol.map")
    raw_listeners: str = config(
        STRING, "PLAINTEXT://:9092", None,
        "Addresses to listen on, `NAME://host:port,...`; an empty host is every interface.",
        HIGH, PER_BROKER, name="listeners")
    max_connection_creation_rate: int = config(
        INT, MAX_INT, at_least(0), "New connections a second; also per listener.", MEDIUM, CLUSTER_WIDE)
    max_connections: int = config(
        INT, MAX_INT, at_least(0),
        "Connections this broker takes; the inter-broker listener may go beyond. Also per listener: "
        "listener.name.<name>.max.connections.", MEDIUM, CLUSTER_WIDE)
    max_connections_per_ip: int = config(
        INT, MAX_INT, at_least(0), "Connections taken from one address.", MEDIUM, CLUSTER_WIDE)
    raw_max_connections_per_ip_overrides: str = config(
        STRING, "", None,
        "Exceptions from max.connections.per.ip, `address:count,...`.",
        MEDIUM, CLUSTER_WIDE, name="max.connections.per.ip.overrides")
    max_incremental_fetch_session_cache_slots: int = config(
        INT, 1000, at_least(0), "Fetch sessions that are kept (KIP-227).")
    num_io_threads: int = config(
        INT, 8, at_least(1),
        "Threads in which requests wait for ZooKeeper, and as many that recompress, check, convert records.", HIGH, CLUSTER_WIDE)
    num_network_threads: int = config(
        INT, 3, at_least(1), "Threads that read what is to be sent and is not in the page cache.", HIGH, CLUSTER_WIDE)
    queued_max_request_bytes: int = config(
        LONG, -1, None,
        "Bytes that requests may hold while they arrive; no other is read meanwhile. -1 is without limit.")
    queued_max_requests: int = config(INT, 500, at_least(1), "Requests that may wait before reading stops.", HIGH)
    request_timeout_ms: int = config(INT, 30000, None, "How long this broker waits for another's answer.", HIGH)
    security_inter_broker_protocol: str = config(
        STRING, "PLAINTEXT", OneOf("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        "Protocol between brokers; not together with inter.broker.listener.name.")
    socket_connection_setup_timeout_max_ms: int = config(
        LONG, 30000, None, "Longest wait for a connection to another broker to be set up.")
    socket_connection_setup_timeout_ms: int = config(
        LONG, 10000, None, "First wait for a connection to another broker to be set up; grows with failures.")
    socket_listen_backlog_size: int = config(
        INT, 50, at_least(1), "Connections the kernel holds until they are accepted; capped by net.core.somaxconn.")
    socket_receive_buffer_bytes: int = config(
        INT, 102400, None, "SO_RCVBUF of the listeners; -1 is the system's default.", HIGH)
    socket_request_max_bytes: int = config(INT, 104857600, at_least(1), "Largest request, bytes.", HIGH)
    socket_send_buffer_bytes: int = config(
        INT, 102400, None, "SO_SNDBUF of the listeners; -1 is the system's default.", HIGH)
