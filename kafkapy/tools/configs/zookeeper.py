"""The part of kafka-configs that uses ZooKeeper while no broker runs: users' SCRAM credentials, and configs of
brokers."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Final

from kafkapy.common.config_def import ConfigException, Password
from kafkapy.common.sanitizer import desanitize, sanitize
from kafkapy.security import scram
from kafkapy.security.password_encoder import (
    DEFAULT_CIPHER,
    DEFAULT_ITERATIONS,
    DEFAULT_KEY_LENGTH,
    PasswordEncoder,
)
from kafkapy.server.config import dynamic_config_rules as rules
from kafkapy.server.config import zk_entity_configs
from kafkapy.server.config.dynamic_broker_config import DEFAULT_ENTITY
from kafkapy.tools.common.command_line import Options, ToolError, integer
from kafkapy.tools.configs.alter import (
    SCRAM_MECHANISMS,
    configs_to_add,
    credential_parts,
)
from kafkapy.tools.configs.entities import BROKERS, USERS
from kafkapy.tools.zookeeper.tls import tool_security
from kafkapy.zk.errors import NoAuthError, ZooKeeperError
from kafkapy.zk.kafka_zk_client import KafkaZkClient

ZK_ENTITY_TYPES: Final = (USERS, BROKERS)
_TIMEOUT_MS = 30_000
_ENCODER: Final = "password.encoder."
_SECRET: Final = f"{_ENCODER}secret"
_BROKERS_RUN = (
    "Broker configuration operations using ZooKeeper are only supported if the affected broker(s) are not running."
)
_USERS_ONLY = "User configuration updates using ZooKeeper are only supported for SCRAM credential updates."
_SALT_BYTES = 20


def execute_with_zookeeper(options: Options, type_: str, name: str | None) -> None:
    """`--alter` or `--describe` of one entity.

    Args:
        options: The command line, checked.
        type_: One of `ZK_ENTITY_TYPES`.
        name: The entity's, "" for the default, None if none is given.

    Raises:
        ToolError: It cannot be done; the sentence is Kafka's, without values that are or may be secrets.
    """
    print("Warning: --zookeeper is deprecated and will be removed in a future version of Kafka.")
    print("Use --bootstrap-server instead to specify a broker to connect to.", flush=True)
    security = tool_security(options.value("zk-tls-config-file"))
    connect = options.value("zookeeper")
    try:
        client = KafkaZkClient.connect(
            connect,
            _TIMEOUT_MS,
            _TIMEOUT_MS,
            security=security,
            secure_acls=security.is_authenticated,
            create_chroot=False,
        )
    except ZooKeeperError as error:
        raise ToolError(str(error)) from None
    try:
        if options.has("alter"):
            _alter(client, options, type_, _stored_name(type_, name))
        else:
            _describe(client, type_, None if name is None else _stored_name(type_, name))
    except NoAuthError as error:
        raise ToolError(
            f"{error.path}: its access list lets only brokers read and change it. Give their user of SASL "
            "(KAFKA_OPTS=-Djava.security.auth.login.config=FILE), or their certificate (--zk-tls-config-file)"
        ) from None
    except (ZooKeeperError, ConfigException) as error:
        raise ToolError(str(error)) from None
    finally:
        client.close()


def _stored_name(type_: str, name: str | None) -> str:
    if name == "":
        return DEFAULT_ENTITY
    return sanitize(name or "") if type_ == USERS else name or ""


def entity_text(type_: str, stored_name: str) -> str:
    """What Kafka's tool calls it.

    Example:
        >>> entity_text("users", "a%40b"), entity_text("brokers", "<default>")
        ("user-principal 'a@b'", 'default brokers')
    """
    title = "user-principal" if type_ == USERS else type_
    if stored_name == DEFAULT_ENTITY:
        return f"default {title}"
    return f"{title} '{desanitize(stored_name) if type_ == USERS else stored_name}'"


def _alter(client: KafkaZkClient, options: Options, type_: str, name: str) -> None:
    additions = configs_to_add(options)
    deletions = [each.strip() for each in options.values("delete-config")]
    refusal = (
        f"--bootstrap-server option must be specified to update {type_} configs: "
        f"{{add: {_shown(additions)}, delete: {_java_list(deletions)}}}"
    )
    if type_ == USERS:
        if any(each not in SCRAM_MECHANISMS for each in (*additions, *deletions)):
            raise ToolError(f"requirement failed: {refusal}. {_USERS_ONLY}")
        additions = {mechanism: _credential(mechanism, text) for mechanism, text in additions.items()}
    else:
        _require_stopped(client, name, refusal)
        additions = _stored_broker_configs(additions, per_broker=name != DEFAULT_ENTITY)
    configs = client.get_entity_configs(type_, name)
    if missing := [each for each in deletions if each not in configs]:
        raise ToolError(f"Invalid config(s): {','.join(missing)}")
    configs = {key: value for key, value in {**configs, **additions}.items() if key not in deletions}
    if type_ == USERS:
        zk_entity_configs.change_user_config(client, name, configs, check_controller=False)
    else:
        rules.validate_types(configs)
        zk_entity_configs.change_entity_config(client, type_, name, configs, check_controller=False)
    print(f"Completed updating config for entity: {entity_text(type_, name)}.")


def _describe(client: KafkaZkClient, type_: str, name: str | None) -> None:
    if type_ == BROKERS:
        _require_stopped(client, name or "", f"--bootstrap-server option must be specified to describe {type_}")
    names = client.get_all_entities_with_config(type_) if name is None else [name]
    for each in names:
        configs = client.get_entity_configs(type_, each)
        if configs or name is not None:
            print(
                f"Configs for {entity_text(type_, each)} are {','.join(f'{key}={value}' for key, value in configs.items())}"
            )


def _require_stopped(client: KafkaZkClient, name: str, refusal: str) -> None:
    """Refuse if the broker runs, or, for the defaults, any broker."""
    if name == DEFAULT_ENTITY:
        if count := len(client.get_sorted_broker_list()):
            raise ToolError(f"requirement failed: {refusal} - {count} brokers are running. {_BROKERS_RUN}")
        return
    try:
        broker_id = integer(name)
    except ValueError:
        raise ToolError(
            f"Error parsing broker {name}. The broker's Entity Name must be a single integer value"
        ) from None
    if client.get_broker(broker_id) is not None:
        raise ToolError(f"requirement failed: {refusal} - broker {broker_id} is running. {_BROKERS_RUN}")


def _credential(mechanism: str, text: str) -> str:
    """The stored form of `iterations=8192,password=secret`."""
    iterations, password = credential_parts(mechanism, text)
    hash_name = "sha256" if mechanism == "SCRAM-SHA-256" else "sha512"
    salt = secrets.token_bytes(_SALT_BYTES)
    return scram.credential_text(scram.ScramCredential.of_password(hash_name, password, salt, iterations))


def _stored_broker_configs(given: Mapping[str, str], per_broker: bool) -> dict[str, str]:
    """The stored form of a broker's configs: without `password.encoder.*`, and with passwords encoded by these."""
    encoder_configs = {name: value for name, value in given.items() if name.startswith(_ENCODER)}
    configs = {name: value for name, value in given.items() if name not in encoder_configs}
    rules.validate_names_and_types(configs, per_broker)
    passwords = [name for name in configs if rules.is_password_config(name)]
    if not passwords:
        return configs
    if _SECRET not in encoder_configs:
        raise ToolError(
            f"requirement failed: {_SECRET} must be specified to update Set({', '.join(passwords)}). Other password encoder "
            "configs like cipher algorithm and iterations may also be specified to override the default encoding parameters. "
            "Password encoder configs will not be persisted in ZooKeeper."
        )
    # As in Kafka's tool, the key factory is always the default one.
    encoder = PasswordEncoder(
        Password(encoder_configs[_SECRET]),
        None,
        encoder_configs.get(f"{_ENCODER}cipher.algorithm", DEFAULT_CIPHER),
        _number(encoder_configs, "key.length", DEFAULT_KEY_LENGTH),
        _number(encoder_configs, "iterations", DEFAULT_ITERATIONS),
    )
    return {**configs, **{name: encoder.encode(Password(configs[name])) for name in passwords}}


def _number(configs: Mapping[str, str], name: str, default: int) -> int:
    text = configs.get(_ENCODER + name)
    try:
        return default if text is None else integer(text)
    except ValueError:
        raise ToolError(f"Invalid value {text} for configuration {_ENCODER}{name}: Not a number of type INT") from None


def _shown(configs: Mapping[str, str]) -> str:
    """The configs as Java prints properties; values that are or may be secrets are hidden."""
    pairs = []
    for name, value in configs.items():
        key = rules.broker_config_key(name)
        is_quota = name in zk_entity_configs.ClientQuotaConfigs.definition
        is_open = is_quota or (key is not None and key.type.name != "PASSWORD")
        pairs.append(f"{name}={value if is_open else Password.HIDDEN}")
    return f"{{{', '.join(pairs)}}}"


def _java_list(items: Sequence[str]) -> str:
    return f"ArrayBuffer({', '.join(items)})" if items else "List()"
