"""Creates the authorizer of `authorizer.class.name`."""

from __future__ import annotations

import importlib
from typing import Final

from kafkapy.common import metadata_version
from kafkapy.common.config_def import ConfigException
from kafkapy.common.time import Time
from kafkapy.server.authorizer import AllowAll, Authorizer
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.security.acl_authorizer import AclAuthorizer
from kafkapy.server.security.audit.audited_authorizer import AuditedAuthorizer
from kafkapy.server.security.authorizer_configs import (
    ALLOW_EVERYONE,
    SUPER_USERS,
    parse_allow_everyone,
    parse_super_users,
)
from kafkapy.server.security.decision_log import DecisionListener
from kafkapy.zk.acl_store import ZkAclStore
from kafkapy.zk.client_security import security_of_broker
from kafkapy.zk.kafka_zk_client import KafkaZkClient

ACL_AUTHORIZER: Final = "kafka.security.authorizer.AclAuthorizer"
_CLASS_NAME: Final = "authorizer.class.name"
_PREFIX: Final = "authorizer."
_ZOOKEEPER: Final = f"{_PREFIX}zookeeper."


def build_authorizer(
    config: KafkaConfig,
    zk_client: KafkaZkClient,
    time: Time,
    on_decision: DecisionListener | None = None,
    reports_allowed: bool = True,
) -> Authorizer:
    """Return the authorizer, configured and not started. Blocks on ZooKeeper if ACLs have their own.

    Args:
        config: The broker's.
        zk_client: The broker's, which is used for ACLs, too, unless `authorizer.zookeeper.url` or
            `authorizer.zookeeper.ssl.*` are set.
        time: For the age of notifications and pauses between attempts.
        on_decision: Called with each decision, for the audit.
        reports_allowed: Whether `on_decision` is also called for allowed operations.

    Returns:
        `AllowAll` without `authorizer.class.name`; `AclAuthorizer` for Kafka's class of that name; else an object of
        the class with the import path `package.module.Class`, created without arguments.

    Raises:
        ConfigException: There is no such class, it is not an `Authorizer`, or one of its configs is invalid.
        ZooKeeperClientTimeoutError: There is no connection to the ZooKeeper of ACLs in time.
        ZooKeeperClientAuthFailedError: It refuses the broker's SASL user.
    """
    class_name = config.authorizer_class_name.strip()
    if not class_name:
        return AllowAll()
    if class_name != ACL_AUTHORIZER:
        authorizer = _imported(class_name)
        authorizer.configure(config.originals)
        return authorizer if on_decision is None else AuditedAuthorizer(authorizer, on_decision, reports_allowed)
    super_users = parse_super_users(config.originals.get(SUPER_USERS, ""))
    allow_everyone = parse_allow_everyone(config.originals.get(ALLOW_EVERYONE, ""))
    return AclAuthorizer(
        _store(config, zk_client, time),
        super_users,
        allow_everyone,
        time,
        lambda: metadata_version.are_prefixed_acls_supported(config.inter_broker_protocol_version),
        on_decision,
        reports_allowed,
    )


def _imported(class_name: str) -> Authorizer:
    module_name, _, name = class_name.replace(":", ".").rpartition(".")
    refused = f"Invalid value {class_name} for configuration {_CLASS_NAME}"
    if not module_name:
        raise ConfigException(f"{refused}: expected an import path, package.module.Class")
    try:
        kind = getattr(importlib.import_module(module_name), name)
    except (ImportError, AttributeError) as error:
        known = f"{ACL_AUTHORIZER}, or the import path of a subclass of kafkapy.server.authorizer.Authorizer"
        raise ConfigException(f"{refused}: {error}. Java classes cannot be used; it may be {known}") from error
    if not (isinstance(kind, type) and issubclass(kind, Authorizer)):
        raise ConfigException(f"{refused}: it is no subclass of kafkapy.server.authorizer.Authorizer")
    return kind()


def _store(config: KafkaConfig, zk_client: KafkaZkClient, time: Time) -> ZkAclStore:
    url = config.originals.get(f"{_ZOOKEEPER}url", "").strip()
    if not url and not any(name.startswith(f"{_ZOOKEEPER}ssl.") for name in config.originals):
        return ZkAclStore(zk_client, time)
    connection_timeout_ms = config.zookeeper_connection_timeout_ms or config.zookeeper_session_timeout_ms
    own = KafkaZkClient.connect(
        url or config.zookeeper_connect,
        _number(config, "session.timeout.ms", config.zookeeper_session_timeout_ms),
        _number(config, "connection.timeout.ms", connection_timeout_ms),
        _number(config, "max.in.flight.requests", config.zookeeper_max_in_flight_requests),
        time,
        security=security_of_broker(config.originals, prefix=_PREFIX),
        secure_acls=config.zookeeper_set_acl,
    )
    return ZkAclStore(own, time, close_client=True)


def _number(config: KafkaConfig, name: str, default: int) -> int:
    key = _ZOOKEEPER + name
    value = config.originals.get(key, "").strip()
    if not value:
        return default
    if not (value.isascii() and value.isdigit() and int(value) > 0):
        raise ConfigException(f"Invalid value {value} for configuration {key}: Not a positive number")
    return int(value)
