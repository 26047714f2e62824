"""Policies for overrides of client configs by connectors (KIP-458): `connector.client.config.override.policy`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from kafkapy.common.config_def import ConfigException

_PRINCIPAL = frozenset({"sasl.jaas.config", "sasl.mechanism", "security.protocol"})


class OverrideRequest(NamedTuple):
    """`client`: producer, consumer or admin; `configs`: without the prefix `CLIENT.override.`; `type`: source or sink."""

    connector: str | None
    type: str
    client: str
    configs: Mapping[str, object]


class OverridePolicy(Protocol):
    """The interface of a policy; any class with this method may be configured by its import path."""

    def refusal(self, request: OverrideRequest, config: str) -> str | None:
        """Return why this config may not be overridden; None: it may."""
        ...


class AllOverridePolicy:
    """Allows all overrides: Kafka's default since 3.0."""

    def refusal(self, request: OverrideRequest, config: str) -> str | None:
        return None


class NoneOverridePolicy:
    def refusal(self, request: OverrideRequest, config: str) -> str | None:
        return _refusal("None", config)


class PrincipalOverridePolicy:
    """Allows overrides of the client's credentials only."""

    def refusal(self, request: OverrideRequest, config: str) -> str | None:
        return None if config in _PRINCIPAL else _refusal("Principal", config)


def _refusal(policy: str, config: str) -> str:
    return f"The '{policy}' policy does not allow '{config}' to be overridden in the connector configuration."


_POLICIES: dict[str, type[OverridePolicy]] = {
    "All": AllOverridePolicy,
    "None": NoneOverridePolicy,
    "Principal": PrincipalOverridePolicy,
}
_JAVA = "org.apache.kafka.connect.connector.policy."
_SUFFIX = "ConnectorClientConfigOverridePolicy"


def make_policy(name: str) -> OverridePolicy:
    """Create the policy of a worker's config: All, None, Principal, their Java classes, or an import path.

    Raises:
        ConfigException: There is no such policy.
    """
    known = _POLICIES.get(name.removeprefix(_JAVA).removesuffix(_SUFFIX))
    if known is not None:
        return known()
    from importlib import import_module

    module, _, attribute = name.replace(":", ".").rpartition(".")
    try:
        policy: OverridePolicy = getattr(import_module(module), attribute)()
    except (ImportError, AttributeError, ValueError):
        raise ConfigException(
            f"Invalid value {name} for configuration connector.client.config.override.policy: the policies known here are "
            "All, None, Principal and import paths"
        ) from None
    return policy
