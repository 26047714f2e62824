"""Client quotas in ZooKeeper (KIP-546; part of Kafka's `ZkAdminManager`). Every function blocks on ZooKeeper."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from kafkapy.common.config_def import ConfigDef
from kafkapy.common.java_text import java_double
from kafkapy.common.sanitizer import desanitize, sanitize
from kafkapy.common.wire_enums import ConfigType
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.server.api_error import NO_ERROR, ApiError
from kafkapy.server.config import zk_entity_configs
from kafkapy.server.config.dynamic_broker_config import DEFAULT_ENTITY
from kafkapy.zk.kafka_zk_client import KafkaZkClient

log = logging.getLogger("kafkapy.server.ZkAdminManager")

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"

Entity = dict[str, str | None]
"""Type (user, client-id, ip) -> name, None for the default of that type. In the order of the request."""

_EPSILON = 1e-6


class Filter(NamedTuple):
    """Which names match: exactly `name` (None: the default), or with `any_name` every name that is set."""

    any_name: bool
    name: str | None = None


class QuotaOp(NamedTuple):
    """Set the quota `key`, or remove it if `value` is None."""

    key: str
    value: float | None


# ------------------------------------------------------------------------------------------------------- describe


def describe_client_quotas(
    zk_client: KafkaZkClient, filters: Iterable[tuple[str, Filter]], strict: bool
) -> list[tuple[Entity, dict[str, float]]]:
    """Return the entities that match all filters and have quotas.

    `strict`: only entities without any type that no filter names. `KafkaError` if the filters contradict each other.
    """
    by_type = _filters_by_type(filters)
    results: list[tuple[Entity, dict[str, float]]] = []
    if IP not in by_type:
        results += _describe_users_and_clients(zk_client, by_type.get(USER), by_type.get(CLIENT_ID), strict)
    if USER not in by_type and CLIENT_ID not in by_type:
        results += _describe_ips(zk_client, by_type.get(IP), strict)
    return results


def _filters_by_type(filters: Iterable[tuple[str, Filter]]) -> dict[str, Filter]:
    by_type: dict[str, Filter] = {}
    for entity_type, wanted in filters:
        if not entity_type:
            raise KafkaError(Errors.INVALID_REQUEST, "Unexpected empty filter component entity type")
        if entity_type not in (USER, CLIENT_ID, IP):
            raise KafkaError(Errors.UNSUPPORTED_VERSION, f"Custom entity type '{entity_type}' not supported")
        if entity_type in by_type:
            label = "client" if entity_type == CLIENT_ID else entity_type
            raise KafkaError(Errors.INVALID_REQUEST, f"Duplicate {label} filter component entity type")
        by_type[entity_type] = wanted
    if IP in by_type and len(by_type) > 1:
        raise KafkaError(
            Errors.INVALID_REQUEST,
            "Invalid entity filter component combination, IP filter component should not be used with user or clientId "
            "filter component.",
        )
    return by_type


def _describe_users_and_clients(
    zk_client: KafkaZkClient, user: Filter | None, client: Filter | None, strict: bool
) -> list[tuple[Entity, dict[str, float]]]:
    def may_be_absent(wanted: Filter | None) -> bool:
        return wanted is None

    def may_be_there(wanted: Filter | None) -> bool:
        return wanted is not None or not strict

    found: list[tuple[Entity, dict[str, str]]] = []
    if may_be_there(user) and may_be_absent(client):
        for name, configs in _fetch(zk_client, zk_entity_configs.USERS, user):
            found.append(({USER: name}, configs))
    if may_be_absent(user) and may_be_there(client):
        for name, configs in _fetch(zk_client, zk_entity_configs.CLIENTS, client):
            found.append(({CLIENT_ID: name}, configs))
    if may_be_there(user) and may_be_there(client):
        for user_name, client_name, configs in _fetch_pairs(zk_client, user, client):
            found.append(({USER: user_name, CLIENT_ID: client_name}, configs))
    quota_names = zk_entity_configs.ClientQuotaConfigs.definition
    return _with_quotas(((e, c) for e, c in found), quota_names)


def _describe_ips(zk_client: KafkaZkClient, ip: Filter | None, strict: bool) -> list[tuple[Entity, dict[str, float]]]:
    if ip is None and strict:
        return []
    found: list[tuple[Entity, dict[str, str]]] = [
        ({IP: name}, configs) for name, configs in _fetch(zk_client, zk_entity_configs.IPS, ip)
    ]
    return _with_quotas(found, zk_entity_configs.IpConfigs.definition)


def _fetch(
    zk_client: KafkaZkClient, entity_type: str, wanted: Filter | None
) -> list[tuple[str | None, dict[str, str]]]:
    if wanted is not None and not wanted.any_name:
        return [(wanted.name, zk_client.get_entity_configs(entity_type, _sanitized(wanted.name)))]
    everything = zk_entity_configs.fetch_all_entity_configs(zk_client, entity_type)
    return [(_desanitized(name), configs) for name, configs in everything.items()]


def _fetch_pairs(
    zk_client: KafkaZkClient, user: Filter | None, client: Filter | None
) -> list[tuple[str | None, str | None, dict[str, str]]]:
    if user is not None and client is not None and not user.any_name and not client.any_name:
        path = f"{_sanitized(user.name)}/clients/{_sanitized(client.name)}"
        return [(user.name, client.name, zk_client.get_entity_configs(zk_entity_configs.USERS, path))]
    pairs = []
    everything = zk_entity_configs.fetch_all_child_entity_configs(
        zk_client, zk_entity_configs.USERS, zk_entity_configs.CLIENTS
    )
    for path, configs in everything.items():
        user_name, _, client_name = path.partition("/clients/")
        names = _desanitized(user_name), _desanitized(client_name)
        if _matches(user, names[0]) and _matches(client, names[1]):
            pairs.append((*names, configs))
    return pairs


def _matches(wanted: Filter | None, name: str | None) -> bool:
    return wanted is None or wanted.any_name or wanted.name == name


def _with_quotas(
    found: Iterable[tuple[Entity, Mapping[str, str]]], definition: ConfigDef
) -> list[tuple[Entity, dict[str, float]]]:
    results = []
    for entity, configs in found:
        quotas = {name: float(value) for name, value in configs.items() if name in definition}
        if quotas:
            results.append((entity, quotas))
    return results


# ---------------------------------------------------------------------------------------------------------- alter


def alter_client_quotas(
    zk_client: KafkaZkClient, entity: Entity, ops: Iterable[QuotaOp], validate_only: bool
) -> ApiError:
    """Change the quotas of one entity."""
    try:
        _alter(zk_client, entity, ops, validate_only)
    except Exception as error:
        expected = isinstance(error, KafkaError)
        log.info("Error encountered while updating client quotas: %s", error, exc_info=None if expected else error)
        return ApiError.from_exception(error)
    return NO_ERROR


def _alter(zk_client: KafkaZkClient, entity: Entity, ops: Iterable[QuotaOp], validate_only: bool) -> None:
    entity_type, path, definition = _place(entity)
    configs = zk_client.get_entity_configs(entity_type, path)
    for op in ops:
        if op.value is None:
            configs.pop(op.key, None)
        else:
            configs[op.key] = _quota_text(definition, op.key, op.value)
    if validate_only:
        return
    if entity_type == zk_entity_configs.USERS:
        zk_entity_configs.change_user_config(zk_client, path, configs)
    elif entity_type == zk_entity_configs.CLIENTS:
        zk_entity_configs.change_client_id_config(zk_client, path, configs)
    else:
        zk_entity_configs.change_ip_config(zk_client, path, configs)


def _place(entity: Entity) -> tuple[str, str, ConfigDef]:
    """Return an entity's type, path and possible configs in ZooKeeper; `KafkaError` if its types can't be combined."""
    if not entity:
        raise KafkaError(Errors.INVALID_REQUEST, "Invalid empty client quota entity")
    for entity_type, name in entity.items():
        if entity_type not in (USER, CLIENT_ID, IP):
            raise KafkaError(Errors.INVALID_REQUEST, f"Unhandled client quota entity type: {entity_type}")
        if name == "":
            raise KafkaError(Errors.INVALID_REQUEST, f"Empty {entity_type} not supported")
    paths = {entity_type: _sanitized(name) for entity_type, name in entity.items()}
    quotas = zk_entity_configs.ClientQuotaConfigs.definition
    if IP in paths:
        if len(paths) > 1:
            raise KafkaError(
                Errors.INVALID_REQUEST,
                "Invalid quota entity combination, IP entity should not be used with user/client ID entity.",
            )
        if not _is_host(paths[IP]):
            raise KafkaError(Errors.INVALID_REQUEST, f"{paths[IP]} is not a valid IP or resolvable host.")
        return zk_entity_configs.IPS, paths[IP], zk_entity_configs.IpConfigs.definition
    if USER not in paths:
        return zk_entity_configs.CLIENTS, paths[CLIENT_ID], quotas
    if CLIENT_ID in paths:
        return (
            zk_entity_configs.USERS,
            f"{paths[USER]}/clients/{paths[CLIENT_ID]}",
            zk_entity_configs.UserConfigs.definition,
        )
    return zk_entity_configs.USERS, paths[USER], zk_entity_configs.UserConfigs.definition


def _quota_text(definition: ConfigDef, name: str, value: float) -> str:
    key = definition.get(name)
    if key is None:
        raise KafkaError(Errors.INVALID_REQUEST, f"Invalid configuration key {name}")
    if key.type is ConfigType.DOUBLE:
        return java_double(value)
    if key.type not in (ConfigType.LONG, ConfigType.INT):
        raise KafkaError(Errors.UNKNOWN_SERVER_ERROR)
    bound = (1 << 63) - 1 if key.type is ConfigType.LONG else (1 << 31) - 1
    whole = 0 if value != value else int(max(min(value + _EPSILON, bound), -bound - 1))
    if abs(whole - value) > _EPSILON:  # not so for NaN, which Kafka treats as 0
        raise KafkaError(Errors.INVALID_REQUEST, f"Configuration {name} must be a {key.type.name} value")
    return str(whole)


def _is_host(name: str) -> bool:
    if name == DEFAULT_ENTITY:
        return True
    try:
        socket.getaddrinfo(name, None)
    except OSError:
        return False
    return True


def _sanitized(name: str | None) -> str:
    return DEFAULT_ENTITY if name is None else sanitize(name)


def _desanitized(name: str) -> str | None:
    return None if name == DEFAULT_ENTITY else desanitize(name)
