"""The content of a store in any format: private keys with their chains, and trusted certificates."""

from __future__ import annotations

from typing import Final, NamedTuple

from kafkapy.common.config_def import ConfigException
from kafkapy.common.java_hash_order import hash_map_order
from kafkapy.security.tls.certificate_fields import CertificateFields, certificate_fields
from kafkapy.security.tls.der import DerError

MAX_STORE_BYTES: Final = 16 << 20
"""A store with 5,000 trusted certificates has about 8 MB."""


class StoreError(ConfigException):
    """An unusable store; the message names the file, the entry and the remedy, and contains no secret."""


class PrivateKey:
    """A private key as PEM, possibly encrypted, with its password.

    No repr shows it, so no log or traceback that prints values does.
    """

    __slots__ = ("password", "pem")

    def __init__(self, pem: bytes, password: str | None = None) -> None:
        """`password` None: the PEM is not encrypted."""
        self.pem = pem
        self.password = password

    def __repr__(self) -> str:
        return "PrivateKey([hidden])"

    def __reduce__(self) -> str:
        raise TypeError("a private key is not pickled")


class KeyEntry(NamedTuple):
    """A private key and its certificates (DER), its own first."""

    alias: str
    key: PrivateKey
    chain: tuple[bytes, ...]


class TrustedEntry(NamedTuple):
    """A certificate (DER) that is trusted."""

    alias: str
    certificate: bytes


class KeyStore(NamedTuple):
    """The entries of a store in the order of Java's `KeyStore.aliases`.

    `origin` is its name in errors: the file, or the name of the config.
    """

    origin: str
    keys: tuple[KeyEntry, ...]
    trusted: tuple[TrustedEntry, ...]
    aliases: tuple[str, ...]

    def chosen_keys(self) -> list[KeyEntry]:
        """Return the entries that a Java broker presents: of each type of key (RSA, EC, ...) the first in its table of
        aliases.

        Raises:
            StoreError: A certificate cannot be read.
        """
        by_alias = {each.alias: each for each in self.keys}
        chosen: dict[str, KeyEntry] = {}
        for alias in hash_map_order(each for each in self.aliases if each in by_alias):
            entry = by_alias[alias]
            chosen.setdefault(self.fields(alias, entry.chain[0]).key_type, entry)
        return list(chosen.values())

    def trust_anchors(self) -> list[bytes]:
        """Return the trusted certificates, as Java's PKIX trust manager reads them from a store.

        These are the trusted entries, and the own certificate of each key, but not those of its issuers.
        """
        return list(dict.fromkeys([each.certificate for each in self.trusted] + [each.chain[0] for each in self.keys]))

    def certificates(self) -> list[tuple[str, CertificateFields]]:
        """Return alias and fields of each entry's certificate, in the order of the aliases. Raises StoreError."""
        found = {each.alias: each.chain[0] for each in self.keys}
        found |= {each.alias: each.certificate for each in self.trusted}
        return [(alias, self.fields(alias, found[alias])) for alias in self.aliases]

    def fields(self, alias: str, certificate: bytes) -> CertificateFields:
        """Raise StoreError that names the alias."""
        try:
            return certificate_fields(certificate)
        except DerError as error:
            raise StoreError(
                f"{self.origin}: the certificate of {alias} cannot be read: {error}; make it anew"
            ) from None
