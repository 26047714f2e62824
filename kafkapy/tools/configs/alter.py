"""The part of kafka-configs that changes configs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from kafkapy.admin.configs import ConfigChange
from kafkapy.admin.results import values_of
from kafkapy.admin.types import (
    ConfigResource,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from kafkapy.common.wire_enums import AlterConfigOp
from kafkapy.tools.common.command_line import Options, ToolError
from kafkapy.tools.configs.describe import QUOTA_TYPES, RESOURCE_TYPES, all_quotas, resource_configs
from kafkapy.tools.configs.entities import BROKER_LOGGERS, BROKERS, CLIENTS, IPS, USERS

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient

CLIENT_QUOTAS = frozenset(
    {"producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"}
)
IP_QUOTAS = frozenset({"connection_creation_rate"})
SCRAM_MECHANISMS = {mechanism.mechanism_name: mechanism for mechanism in ScramMechanism if mechanism.value}
DEFAULT_SCRAM_ITERATIONS = MIN_SCRAM_ITERATIONS = 4096

_OUTSIDE_BRACKETS = r"(?=[^\]]*(?:\[|\Z))"
_CREDENTIAL = re.compile(r"(?:iterations=(-?[0-9]*),)?password=(.*)", re.DOTALL)


def alter(admin: AdminClient, options: Options, types: Sequence[str], names: Sequence[str]) -> None:
    additions = configs_to_add(options)
    deletions = [name.strip() for name in options.values("delete-config")]
    type_, name = types[0], names[0]
    if type_ == BROKERS:
        alter_broker(admin, name, additions, deletions)
    elif type_ in RESOURCE_TYPES:
        alter_resource(admin, type_, name, additions, deletions)
    elif type_ == IPS:
        _refuse_unknown(IPS, "connection quota", additions, deletions, IP_QUOTAS)
        alter_quotas(admin, types, names, additions, deletions)
    else:
        alter_user_or_client(admin, types, names, additions, deletions)
    if name:
        print(f"Completed updating config for {type_[:-1]} {name}.")
    else:
        print(f"Completed updating default config for {type_} in the cluster.")


def configs_to_add(options: Options) -> dict[str, str]:
    """The configs of --add-config-file and --add-config. Raises ToolError."""
    configs: dict[str, str] = {}
    if options.has("add-config-file"):
        from kafkapy.common.properties import load_file

        try:
            configs.update(load_file(options.value("add-config-file")))
        except ValueError as error:
            raise ToolError(str(error)) from error
    if options.has("add-config"):
        configs.update(parse_configs(options.value("add-config")))
    for name in configs:
        if not re.fullmatch(r"[a-zA-Z0-9._-]*", name):
            raise ToolError(f"Invalid character found for config key: {name}")
    return configs


def parse_configs(text: str) -> dict[str, str]:
    """`k1=v1,k2=[v1,v2]` -> dict. Commas and equals signs inside brackets belong to the value; the brackets are
    removed."""
    configs = {}
    for pair in re.split("," + _OUTSIDE_BRACKETS, text.rstrip(",")):
        parts = re.split(r"\s*=\s*" + _OUTSIDE_BRACKETS, pair)
        if len(parts) != 2:
            raise ToolError(
                'requirement failed: Invalid entity config: all configs to be added must be in the format "key=val".'
            )
        configs[parts[0].strip()] = parts[1].replace("[", "").replace("]", "").strip()
    return configs


def alter_resource(
    admin: AdminClient, type_: str, name: str, additions: Mapping[str, str], deletions: Sequence[str]
) -> None:
    """Change configs of topics, loggers and client metrics, which support incremental changes."""
    known = {entry.name for entry in resource_configs(admin, type_, name)}
    if type_ == BROKER_LOGGERS:
        unknown = [logger for logger in (*deletions, *additions) if logger not in known]
        if unknown:
            raise ToolError(f"Invalid broker logger(s): {','.join(unknown)}")
    else:
        _refuse_missing(deletions, known)
    resource = ConfigResource(RESOURCE_TYPES[type_], name)
    changes = [ConfigChange(key, value) for key, value in additions.items()]
    changes += [ConfigChange(key, "", AlterConfigOp.DELETE) for key in deletions]
    values_of(admin.incremental_alter_configs({resource: changes}))


def alter_broker(admin: AdminClient, name: str, additions: Mapping[str, str], deletions: Sequence[str]) -> None:
    """Change a broker's configs by writing all dynamic ones anew, as Kafka's tool does."""
    configs = {entry.name: entry.value for entry in resource_configs(admin, BROKERS, name)}
    _refuse_missing(deletions, configs)
    configs.update(additions)
    for key in deletions:
        configs.pop(key, None)
    hidden = [key for key, value in configs.items() if value is None]
    if hidden:
        raise ToolError(
            "All sensitive broker config entries must be specified for --alter, missing entries: " + ",".join(hidden)
        )
    values_of(admin.alter_configs({ConfigResource(RESOURCE_TYPES[BROKERS], name): configs}))


def alter_user_or_client(
    admin: AdminClient,
    types: Sequence[str],
    names: Sequence[str],
    additions: Mapping[str, str],
    deletions: Sequence[str],
) -> None:
    configs = [*additions, *deletions]
    if CLIENTS in types:
        _refuse_unknown(CLIENTS, "quota", additions, deletions, CLIENT_QUOTAS)
    else:
        known = CLIENT_QUOTAS | SCRAM_MECHANISMS.keys()
        _refuse_unknown(USERS, "quota and SCRAM credential", additions, deletions, known)
    if all(name in CLIENT_QUOTAS for name in configs):
        alter_quotas(admin, types, names, additions, deletions)
        return
    if "" in names:
        raise ToolError(
            "The use of --entity-default or --user-defaults is not allowed with User SCRAM Credentials using "
            "--bootstrap-server."
        )
    if any(name in CLIENT_QUOTAS for name in configs):
        raise ToolError(
            "Cannot alter both quota and SCRAM credential configs simultaneously for 'users' using --bootstrap-server."
        )
    user = names[0]
    values_of(
        admin.alter_user_scram_credentials(
            [
                *(UserScramCredentialDeletion(user, SCRAM_MECHANISMS[name]) for name in deletions),
                *(parse_credential(user, name, value) for name, value in additions.items()),
            ]
        )
    )


def parse_credential(user: str, mechanism: str, text: str) -> UserScramCredentialUpsertion:
    """Parse `iterations=8192,password=secret`; iterations may be omitted or -1 for the default."""
    iterations, password = credential_parts(mechanism, text)
    return UserScramCredentialUpsertion(user, SCRAM_MECHANISMS[mechanism], password, iterations)


def credential_parts(mechanism: str, text: str) -> tuple[int, str]:
    """Iterations and password of `iterations=8192,password=secret`. A ToolError contains neither."""
    match = _CREDENTIAL.fullmatch(text)
    if match is None:
        raise ToolError(f"Invalid credential property {mechanism}: iterations=NUMBER,password=TEXT is expected")
    iterations = DEFAULT_SCRAM_ITERATIONS if match[1] in (None, "-1") else int(match[1] or 0)
    if iterations < MIN_SCRAM_ITERATIONS:
        raise ToolError(
            f"Iterations {iterations} is less than the minimum {MIN_SCRAM_ITERATIONS} required for {mechanism}"
        )
    return iterations, match[2]


def alter_quotas(
    admin: AdminClient,
    types: Sequence[str],
    names: Sequence[str],
    additions: Mapping[str, str],
    deletions: Sequence[str],
) -> None:
    known: set[str] = set()
    for quotas in all_quotas(admin, types, names).values():
        known.update(quotas)
    _refuse_missing(deletions, known)
    changes: dict[str, float | None] = {}
    for name, text in additions.items():
        try:
            changes[name] = float(text)
        except ValueError:
            raise ToolError(f"Cannot parse quota configuration value for {name}: {text}") from None
    changes.update(dict.fromkeys(deletions))
    entity = tuple((QUOTA_TYPES[type_], name or None) for type_, name in zip(types, names, strict=True))
    admin.alter_client_quotas(entity, changes)


def _refuse_missing(deletions: Iterable[str], known: Iterable[str]) -> None:
    known = set(known)
    missing = [name for name in deletions if name not in known]
    if missing:
        raise ToolError(f"Invalid config(s): {','.join(missing)}")


def _refuse_unknown(
    type_: str, what: str, additions: Iterable[str], deletions: Iterable[str], known: Iterable[str]
) -> None:
    known = set(known)
    for done, names in (("added", additions), ("deleted", deletions)):
        if unknown := [name for name in names if name not in known]:
            raise ToolError(
                f"Only {what} configs can be {done} for '{type_}' using --bootstrap-server. "
                f"Unexpected config names: {','.join(unknown)}"
            )
