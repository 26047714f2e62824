"""The authorizer that `authorizer.class.name` names: Kafka's, or a class of one's own (`package.module.Class`)."""

from __future__ import annotations

from typing import Final

from kafkapy.common.config_def import ConfigException
from kafkapy.common.time import Time
from kafkapy.security.import_path import import_object
from kafkapy.server.authorizer import AllowAll, Authorizer
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.security.acl_authorizer import AclAuthorizer
from kafkapy.server.security.authorizer_configs import (
    ALLOW_EVERYONE,
    SUPER_USERS,
    parse_allow_everyone,
    parse_super_users,
)
from kafkapy.zk.acl_store import ZkAclStore
from kafkapy.zk.kafka_zk_client import KafkaZkClient

ACL_AUTHORIZERS: Final = ("kafka.security.authorizer.AclAuthorizer", "kafka.security.auth.SimpleAclAuthorizer")
"""Kafka's own; the second is its name before Kafka 2.4."""


def build_authorizer(config: KafkaConfig, zk_client: KafkaZkClient, time: Time) -> Authorizer:
    """Without a name everything is allowed, as in Kafka.

    Raises:
        ConfigException: There is no such authorizer, or a config of its cannot be used.
    """
    name = config.authorizer_class_name
    if not name:
        return AllowAll()
    if name not in ACL_AUTHORIZERS:
        own = import_object(name, "authorizer.class.name")
        if not (isinstance(own, type) and issubclass(own, Authorizer)):
            raise ConfigException.invalid("authorizer.class.name", name, "it is no class derived from Authorizer")
        return own()
    return AclAuthorizer(
        ZkAclStore(zk_client, time),
        parse_super_users(config.originals.get(SUPER_USERS, "")),
        parse_allow_everyone(config.originals.get(ALLOW_EVERYONE, "")),
        time,
    )
