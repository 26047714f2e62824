"""Broker configs that change at runtime (KIP-226; Kafka's `DynamicBrokerConfig`).

They are stored in ZooKeeper for one broker (/config/brokers/<id>) or for all (/config/brokers/<default>). Precedence:
this broker's, all brokers', the properties file, the default.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping
from typing import Protocol

from kafkapy.common.config_def import ConfigException, Password, to_text
from kafkapy.security.password_encoder import PasswordEncoder
from kafkapy.server.config import dynamic_config_rules as rules
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.config.password_configs import password_encoder

log = logging.getLogger("kafkapy.server.DynamicBrokerConfig")

DEFAULT_ENTITY = "<default>"
"""ZooKeeper's name for the configs of all brokers."""


class BrokerReconfigurable(Protocol):
    """A part of the broker that is reconfigurable at runtime."""

    @property
    def reconfigurable_configs(self) -> frozenset[str]:
        """Return the configs whose changes it supports."""
        ...

    def validate_reconfiguration(self, new_config: KafkaConfig) -> None:
        """Raise `ConfigException` if it cannot run with `new_config`. Changes nothing."""
        ...

    def reconfigure(self, old_config: KafkaConfig, new_config: KafkaConfig) -> None:
        """Use `new_config`, which is the broker's config already."""
        ...


class DynamicBrokerConfig:
    """Applies dynamic configs over those of the properties file, and reconfigures the affected parts of the broker.

    Invariant: `config` has the values of `static` overridden by `dynamic_default` and `dynamic_broker`. Used on the
    reactor thread; nothing here blocks.
    """

    def __init__(self, config: KafkaConfig) -> None:
        """`config`: the broker's, from the properties file; dynamic changes replace its values."""
        self.config = config
        self.static = dict(config.originals)
        self.static_defaults = {
            name: to_text(key.default) for name, key in config.definition.items() if key.default is not None
        }
        self._encoder = password_encoder(config, config.password_encoder_secret)
        self._decoded: dict[str, str] = {}
        self._just_encoded: dict[str, str] = {}
        """Passwords by their encoded text, because decoding takes milliseconds: those of the current dynamic configs,
        and recently encoded ones.
        """
        self.dynamic_default: dict[str, str] = {}
        self.dynamic_broker: dict[str, str] = {}
        self._reconfigurables: list[BrokerReconfigurable] = []
        self._starting = False

    def add_reconfigurable(self, reconfigurable: BrokerReconfigurable) -> None:
        """Reconfigure this part from now on. `ValueError` if it names a config that cannot change."""
        if wrong := rules.non_dynamic_names(reconfigurable.reconfigurable_configs):
            raise ValueError(f"Reconfigurable contains non-dynamic configs {wrong}")
        self._reconfigurables.append(reconfigurable)

    def initialize(self, default_properties: Mapping[str, str], broker_properties: Mapping[str, str]) -> None:
        """Apply ZooKeeper's configs of <default> and of this broker, before the parts of the broker are created.

        Changes that are too large for a single step at runtime (tripling threads) may have been made in several steps
        before a restart.
        """
        self._starting = True
        self.update_default_config(default_properties)
        self.update_broker_config(broker_properties)
        self._starting = False

    def update_broker_config(self, persistent: Mapping[str, str]) -> None:
        """Apply ZooKeeper's configs of this broker. Invalid ones are logged, and the old values remain."""
        before = self.dynamic_broker
        self.dynamic_broker = self.from_persistent(persistent, per_broker=True)
        try:
            self._update_current_config()
        except ConfigException as error:
            self.dynamic_broker = before
            names = ", ".join(persistent)
            log.error("Per-broker configs of %s could not be applied: %s: %s", self.config.broker_id, names, error)

    def update_default_config(self, persistent: Mapping[str, str]) -> None:
        """Apply ZooKeeper's configs of all brokers. Invalid ones are logged, and the old values remain."""
        before = self.dynamic_default
        self.dynamic_default = self.from_persistent(persistent, per_broker=False)
        try:
            self._update_current_config()
        except ConfigException as error:
            self.dynamic_default = before
            log.error("Cluster default configs could not be applied: %s: %s", ", ".join(persistent), error)

    def validate(self, properties: Mapping[str, str], per_broker: bool) -> None:
        """Raise `ConfigException` if `properties` are invalid as dynamic configs of this broker, or of all."""
        rules.validate_names_and_types(properties, per_broker)
        rules.validate_reporters(properties)
        merged = dict(self.static)
        if per_broker:
            _override(merged, self.dynamic_default)
            _override(merged, properties)
        else:
            _override(merged, properties)
            _override(merged, self.dynamic_broker)
        self._validated(KafkaConfig.from_properties(merged))

    def to_persistent(self, properties: Mapping[str, str], per_broker: bool) -> dict[str, str]:
        """Return the form for ZooKeeper: passwords are encoded, which takes milliseconds.

        Raises:
            ConfigException: There is a password, and it is for all brokers, or `password.encoder.secret` is not set.
        """
        encoded = {}
        for name, value in properties.items():
            if rules.is_password_config(name):
                if not per_broker:
                    raise ConfigException("Password config can be defined only at broker level")
                encoded[name] = self._require_encoder().encode(Password(value))
        self._just_encoded = {encoded[name]: properties[name] for name in encoded}
        return {**properties, **encoded}

    def re_encoded(self, persistent: Mapping[str, str]) -> dict[str, str] | None:
        """Return this broker's configs with passwords encoded with the new secret instead of
        `password.encoder.old.secret`.

        Returns:
            The replacement of `persistent`; None: there is nothing to do.

        Raises:
            ConfigException: There is an old secret, and no new one.
        """
        old = password_encoder(self.config, self.config.password_encoder_old_secret)
        if old is None:
            return None
        changed = {}
        for name in filter(rules.is_password_config, persistent):
            try:
                password = old.decode(persistent[name])
            except ConfigException:
                continue  # encoded with the new secret already, while the old one is still in the properties
            changed[name] = self._require_encoder().encode(password)
        return {**persistent, **changed} if changed else None

    def _require_encoder(self) -> PasswordEncoder:
        if self._encoder is None:
            raise ConfigException("Password encoder secret not configured")
        return self._encoder

    def from_persistent(self, persistent: Mapping[str, str], per_broker: bool) -> dict[str, str]:
        """Return the usable ones of ZooKeeper's configs; others (of another version, or written by hand) are logged."""
        properties = dict(persistent)
        self._remove_invalid(properties, per_broker)
        _remove(
            properties,
            rules.non_dynamic_names(properties),
            "Non-dynamic configs configured in ZooKeeper will be ignored",
        )
        _remove(
            properties,
            rules.unprefixed_security_names(properties),
            "Security configs can be dynamically updated only using listener prefix, base configs will be ignored",
        )
        if not per_broker:
            _remove(
                properties,
                rules.per_broker_names(properties),
                "Per-broker configs defined at default cluster level will be ignored",
            )
        self._decode_passwords(properties)
        return properties

    def _decode_passwords(self, properties: dict[str, str]) -> None:
        """Decode passwords; undecodable ones are logged and omitted."""
        decoded = {}
        for name in [name for name in properties if rules.is_password_config(name)]:
            text = properties[name]
            known = self._decoded.get(text, self._just_encoded.get(text))
            try:
                properties[name] = self._require_encoder().decode(text).value if known is None else known
            except ConfigException as error:
                log.error("Dynamic password config %s could not be decoded, ignoring: %s", name, error)
                del properties[name]
            else:
                decoded[text] = properties[name]
        if decoded:
            self._decoded = decoded

    def _remove_invalid(self, properties: dict[str, str], per_broker: bool) -> None:
        invalid = []
        for name, value in properties.items():
            try:
                rules.validate_types({name: value})
            except ConfigException:
                invalid.append(name)
        source = "broker" if per_broker else "default cluster"
        _remove(properties, invalid, f"Dynamic {source} config contains invalid values, which will be ignored")

    def _update_current_config(self) -> None:
        merged = dict(self.static)
        _override(merged, self.dynamic_default)
        _override(merged, self.dynamic_broker)
        new = KafkaConfig.from_properties(merged)
        concerned = self._validated(new)
        if new.originals == self.config.originals:
            return
        old = copy.copy(self.config)
        self.config.update_current_config(new)
        log.info("KafkaConfig values: %s", self.config.values_text())
        for reconfigurable in concerned:
            reconfigurable.reconfigure(old, self.config)

    def _validated(self, new: KafkaConfig) -> list[BrokerReconfigurable]:
        """Return the parts that the change affects, after all have validated it."""
        old = self.config.originals
        changed = {name for name in old.keys() | new.originals.keys() if old.get(name) != new.originals.get(name)}
        if not changed:
            return []
        with_bases = changed.union(*(rules.broker_config_synonyms(n, match_listener_override=True) for n in changed))
        concerned = [r for r in self._reconfigurables if r.reconfigurable_configs & with_bases]
        try:
            if not self._starting:
                rules.validate_change(self.config, new, changed)
            for reconfigurable in concerned:
                reconfigurable.validate_reconfiguration(new)
        except ConfigException as error:
            log.info("Invalid dynamic configuration: %s", error)
            cause = f"org.apache.kafka.common.config.ConfigException: {error}"
            raise ConfigException.invalid("Invalid dynamic configuration", cause) from error  # Kafka's wording
        return concerned


def _override(properties: dict[str, str], overrides: Mapping[str, str]) -> None:
    """Override `properties`; a lower-priority synonym must not win over the override (log.roll.ms over log.roll.hours)."""
    for name, value in overrides.items():
        for synonym in rules.broker_config_synonyms(name, match_listener_override=False):
            properties.pop(synonym, None)
        properties[name] = value


def _remove(properties: dict[str, str], names: list[str], why: str) -> None:
    if names:
        for name in names:
            del properties[name]
        log.error("%s: %s", why, ", ".join(names))
