"""The configs of `MirrorClient` (Kafka's `MirrorClientConfig`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef
from kafkapy.mirror.config.connector_config import define_replication_policy, entries_with_prefix
from kafkapy.mirror.config.security_configs import CLIENT_CONFIG_NAMES, define_security_protocol, define_ssl_and_sasl
from kafkapy.mirror.forwarding_admin import ForwardingAdmin
from kafkapy.mirror.mirror_classes import find_class
from kafkapy.mirror.replication_policy import ReplicationPolicy


@cache
def client_config_def() -> ConfigDef:
    """The configs of the client."""
    definitions = ConfigDef(find_class=find_class)
    definitions.define(
        "bootstrap.servers", ConfigType.STRING, None, importance=Importance.HIGH, doc="host:port of brokers."
    )
    define_replication_policy(definitions)
    define_security_protocol(definitions)
    define_ssl_and_sasl(definitions)
    return definitions


class MirrorClientConfig:
    """The checked configs of a client of one cluster.

    Args:
        configs: Connection configs of the cluster, with the prefix `consumer.` or `admin.` for one kind of client, and
            `replication.policy.*`.

    Raises:
        ConfigException: A value is wrong.
    """

    def __init__(self, configs: Mapping[str, Any]) -> None:
        self.originals = dict(configs)
        self.values = client_config_def().parse(self.originals)

    def replication_policy(self) -> ReplicationPolicy:
        """Create the policy for names of remote topics."""
        found = self.values["replication.policy.class"]
        policy = found() if isinstance(found, type) else found
        if not isinstance(policy, ReplicationPolicy):
            raise ConfigException.invalid("replication.policy.class", found, "It must be a ReplicationPolicy")
        policy.configure(self.originals)
        return policy

    def forwarding_admin(self) -> ForwardingAdmin:
        """Create an admin client."""
        made = self.values["forwarding.admin.class"](self.admin_config())
        assert isinstance(made, ForwardingAdmin)
        return made

    def admin_config(self) -> dict[str, Any]:
        return self._client_config("admin.")

    def consumer_config(self) -> dict[str, Any]:
        return self._client_config("consumer.")

    def producer_config(self) -> dict[str, Any]:
        return self._client_config("producer.")

    def _client_config(self, prefix: str) -> dict[str, Any]:
        """Return the common configs of clients, with those of this kind of client."""
        found = self.originals | entries_with_prefix(self.originals, prefix)
        return {name: value for name, value in found.items() if name in CLIENT_CONFIG_NAMES and value is not None}
