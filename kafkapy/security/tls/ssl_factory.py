"""The reloadable context of a listener (KIP-226, KIP-978; Kafka's `SslFactory`)."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any, Final

from kafkapy.common.config_def import ConfigException
from kafkapy.common.extras import MissingExtra
from kafkapy.security.tls.config_values import TlsConfigs, flag_of
from kafkapy.security.tls.contexts import make_client_context, make_server_context
from kafkapy.security.tls.key_store import KeyStore
from kafkapy.security.tls.session import TlsSession
from kafkapy.security.tls.stores import ReadFile, load_key_store, load_trust_store, read_store_file

NOT_VERIFIABLE: Final = (
    "A client SSLEngine created with the provided settings can't connect to a server SSLEngine created with those "
    "settings."
)
_REFUSED = "Validation of dynamic config update of SSLFactory failed: "
_JAVA_CONFIG_EXCEPTION = "org.apache.kafka.common.config.ConfigException"


class SslFactory:
    """The stores and the context of one listener at one time. Immutable: a reload creates another.

    Attributes:
        configs: Kafka's `ssl.*` without the listener's prefix.
        context: For new connections.
        keystore: The presented certificates; None: a client that presents nothing.
        truststore: The trusted certificates; None: those that the system trusts.
    """

    __slots__ = ("_server_side", "_verifiable", "configs", "context", "keystore", "truststore")

    def __init__(
        self,
        configs: TlsConfigs,
        *,
        server_side: bool = True,
        verifiable: bool = False,
        read_file: ReadFile = read_store_file,
    ) -> None:
        """
        Parameters:
            configs: Kafka's names without the listener's prefix.
            server_side: Of a listener, not of a client.
            verifiable: Of a listener between brokers: the trust store must accept the key store's own certificate.
            read_file: Reads a store.

        Raises:
            ConfigException: A config or a store cannot be used; the sentence says why.
            MissingExtra: A store needs `cryptography`, which is not installed.
        """
        self.configs: Mapping[str, Any] = dict(configs)
        self._server_side = server_side
        self._verifiable = verifiable
        self.keystore: KeyStore | None = load_key_store(configs, read_file)
        self.truststore: KeyStore | None = load_trust_store(configs, read_file)
        make = make_server_context if server_side else make_client_context
        self.context: ssl.SSLContext = make(configs, self.keystore, self.truststore)
        if verifiable:
            _check_connection(self, self)

    def __repr__(self) -> str:
        return f"SslFactory({'server' if self._server_side else 'client'})"

    def rebuilt(self, configs: TlsConfigs | None = None, read_file: ReadFile = read_store_file) -> SslFactory:
        """What this becomes with other configs, or with the same ones and stores that were replaced.

        Raises:
            ConfigException: In Kafka's words: the new stores cannot be used, or differ in what `ssl.allow.dn.changes` and
                `ssl.allow.san.changes` do not allow. This factory goes on as it is.
        """
        try:
            fresh = SslFactory(
                self.configs if configs is None else configs,
                server_side=self._server_side,
                verifiable=self._verifiable,
                read_file=read_file,
            )
            self._check_successor(fresh)
        except MissingExtra as error:
            raise ConfigException(f"{_REFUSED}{error}") from None
        except ConfigException as error:
            raise ConfigException(f"{_REFUSED}{_JAVA_CONFIG_EXCEPTION}: {error}") from None
        return fresh

    def _check_successor(self, fresh: SslFactory) -> None:
        if self.keystore is None:
            if fresh.keystore is not None:
                raise ConfigException(
                    "Cannot add SSL keystore to an existing listener for which no keystore was configured."
                )
        elif fresh.keystore is None:
            raise ConfigException(
                "Cannot remove the SSL keystore from an existing listener for which a keystore was configured."
            )
        else:
            check_compatible(
                fresh.keystore,
                self.keystore,
                allow_dn_changes=flag_of(fresh.configs, "ssl.allow.dn.changes"),
                allow_san_changes=flag_of(fresh.configs, "ssl.allow.san.changes"),
            )
        if self.truststore is None and fresh.truststore is not None:
            raise ConfigException(
                "Cannot add SSL truststore to an existing listener for which no truststore was configured."
            )
        if self._verifiable:
            _check_connection(self, fresh)
            _check_connection(fresh, self)


def check_compatible(new: KeyStore, old: KeyStore, *, allow_dn_changes: bool, allow_san_changes: bool) -> None:
    """Check that distinguished names and subject alternative names are unchanged (KIP-978).

    Entries are compared in the stores' order. Alternative names may be added, but not removed.

    Raises:
        ConfigException: They differ; Kafka's message.
    """
    entries, before = new.certificates(), old.certificates()
    if len(entries) != len(before) and not (allow_dn_changes and allow_san_changes):
        raise ConfigException(
            f"Keystore entries do not match, existing store contains {len(before)} entries, "
            f"new store contains {len(entries)} entries"
        )
    if not allow_dn_changes:
        for (alias, fields), (old_alias, old_fields) in zip(entries, before, strict=True):
            dn, old_dn = fields.subject, old_fields.subject
            if dn != old_dn and dn.java_name.lower() != old_dn.java_name.lower():
                raise ConfigException(
                    "Keystore DistinguishedName does not match: "
                    f" existing={{alias={old_alias}, DN={old_dn.java_text}}}, new={{alias={alias}, DN={dn.java_text}}}"
                )
    if not allow_san_changes:
        for (alias, fields), (old_alias, old_fields) in zip(entries, before, strict=True):
            if not set(old_fields.subject_alt_names) <= set(fields.subject_alt_names):
                raise ConfigException(
                    "Keystore SubjectAltNames do not match: "
                    f" existing={{alias={old_alias}, SAN={_shown(old_fields.subject_alt_names)}}}, "
                    f"new={{alias={alias}, SAN={_shown(fields.subject_alt_names)}}}"
                )


def _shown(names: tuple[object, ...]) -> str:
    return f"[{', '.join(map(str, names))}]"


def _check_connection(of_server: SslFactory, of_client: SslFactory) -> None:
    """Do a handshake in memory, without checking host names. Raises ConfigException if it fails."""
    client_configs = {**of_client.configs, "ssl.endpoint.identification.algorithm": ""}
    client = TlsSession(make_client_context(client_configs, of_client.keystore, of_client.truststore))
    server = TlsSession(
        make_server_context(of_server.configs, of_server.keystore, of_server.truststore), server_side=True
    )
    client.start()
    while client.has_outgoing or server.has_outgoing:
        server.received(client.take_outgoing())
        client.received(server.take_outgoing())
        client.read_into(bytearray(1))  # in TLS 1.3 a refusal follows the client's handshake
    failure = server.failure if server.failure is not None and not server.failure.received else client.failure
    if failure is not None or not (client.handshake_complete and server.handshake_complete):
        raise ConfigException(NOT_VERIFIABLE, f"In detail: {failure}")
