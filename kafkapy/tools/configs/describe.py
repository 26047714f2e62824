"""The part of kafka-configs that shows configs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from kafkapy.admin.configs import ConfigEntry
from kafkapy.admin.quotas import QuotaEntity, QuotaFilter, QuotaMatch
from kafkapy.admin.results import value_of
from kafkapy.admin.types import ConfigResource
from kafkapy.common.java_text import java_double
from kafkapy.common.wire_enums import ConfigResourceType, ConfigSourceType
from kafkapy.protocol.errors import KafkaError
from kafkapy.tools.common.admin_access import exception_text
from kafkapy.tools.common.command_line import CommandLineError, ToolError
from kafkapy.tools.configs.entities import BROKER_LOGGERS, BROKERS, CLIENT_METRICS, CLIENTS, IPS, TOPICS, USERS

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient

RESOURCE_TYPES = {
    TOPICS: ConfigResourceType.TOPIC,
    BROKERS: ConfigResourceType.BROKER,
    BROKER_LOGGERS: ConfigResourceType.BROKER_LOGGER,
    CLIENT_METRICS: ConfigResourceType.CLIENT_METRICS,
}
QUOTA_TYPES = {USERS: "user", CLIENTS: "client-id", IPS: "ip"}
_QUOTA_TITLES = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}


def describe(admin: AdminClient, types: Sequence[str], names: Sequence[str], describe_all: bool) -> None:
    if types[0] in RESOURCE_TYPES:
        describe_resources(admin, types[0], names[0] if names else None, describe_all)
        return
    describe_quotas(admin, types, names)
    if types[0] != IPS and CLIENTS not in types and "" not in names:
        describe_scram_credentials(admin, names)


def describe_resources(admin: AdminClient, type_: str, name: str | None, describe_all: bool) -> None:
    """Print the configs of the resource of that name, or of all resources of the type."""
    for entity in [name] if name is not None else _all_names(admin, type_):
        if entity:
            print(f"{'All' if describe_all else 'Dynamic'} configs for {type_[:-1]} {entity} are:")
        else:
            print(f"Default configs for {type_} in the cluster are:")
        for entry in resource_configs(admin, type_, entity, include_synonyms=True, describe_all=describe_all):
            synonyms = ", ".join(f"{s.source.name}:{s.name}={_java(s.value)}" for s in entry.synonyms)
            sensitive = str(entry.is_sensitive).lower()
            print(f"  {entry.name}={_java(entry.value)} sensitive={sensitive} synonyms={{{synonyms}}}")


def resource_configs(
    admin: AdminClient, type_: str, name: str, include_synonyms: bool = False, describe_all: bool = False
) -> list[ConfigEntry]:
    """The configs of one resource by name: those set dynamically, or all configs if requested."""
    resource = ConfigResource(RESOURCE_TYPES[type_], name)
    entries = value_of(admin.describe_configs([resource], include_synonyms)[resource])
    source = _dynamic_source(type_, name)
    wanted = [entry for entry in entries if describe_all or source is None or entry.source is source]
    return sorted(wanted, key=lambda entry: entry.name)


def _dynamic_source(type_: str, name: str) -> ConfigSourceType | None:
    if type_ == TOPICS:
        return ConfigSourceType.DYNAMIC_TOPIC_CONFIG
    if type_ == BROKERS:
        return ConfigSourceType.DYNAMIC_BROKER_CONFIG if name else ConfigSourceType.DYNAMIC_DEFAULT_BROKER_CONFIG
    return ConfigSourceType.DYNAMIC_CLIENT_METRICS_CONFIG if type_ == CLIENT_METRICS else None


def _all_names(admin: AdminClient, type_: str) -> list[str]:
    if type_ == TOPICS:
        return list(admin.list_topics())
    if type_ == CLIENT_METRICS:
        raise ToolError("The cluster has no API to list client metrics resources; name one with --entity-name")
    return [*(str(node.id) for node in admin.describe_cluster().nodes), ""]


def _java(value: str | None) -> str:
    return "null" if value is None else value


def describe_quotas(admin: AdminClient, types: Sequence[str], names: Sequence[str]) -> None:
    for entity, quotas in all_quotas(admin, types, names).items():
        by_type = dict(entity)
        parts = []
        for quota_type, title in _QUOTA_TITLES.items():
            if quota_type in by_type:
                name = by_type[quota_type]
                parts.append(f"the default {title}" if name is None else f"{title} '{name}'")
        values = ", ".join(f"{key}={java_double(value)}" for key, value in sorted(quotas.items()))
        print(f"Quota configs for {', '.join(parts)} are {values}")


def all_quotas(admin: AdminClient, types: Sequence[str], names: Sequence[str]) -> dict[QuotaEntity, dict[str, float]]:
    """Quotas of exactly these types; a type without a name stands for all its entities."""
    filters = []
    for type_, name in zip_longest(types, names):
        if type_ is None:
            raise CommandLineError("More entity names specified than entity types")
        match = QuotaMatch.ANY if name is None else QuotaMatch.EXACT if name else QuotaMatch.DEFAULT
        filters.append(QuotaFilter(QUOTA_TYPES[type_], match, name or None))
    found: dict[QuotaEntity, dict[str, float]] = admin.describe_client_quotas(filters)
    return found


def describe_scram_credentials(admin: AdminClient, users: Sequence[str]) -> None:
    from kafkapy.protocol.errors import Errors

    for user, result in admin.describe_user_scram_credentials(users).items():
        if not isinstance(result, KafkaError):
            text = ", ".join(f"{mechanism.mechanism_name}=iterations={count}" for mechanism, count in result)
            print(f"SCRAM credential configs for user-principal '{user}' are {text}")
        elif result.error is not Errors.RESOURCE_NOT_FOUND:
            print(f"Error retrieving SCRAM credential configs for user-principal '{user}': {exception_text(result)}")
