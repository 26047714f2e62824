"""Keys and certificates as PEM text (KIP-651)."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from kafkapy.security.tls.der import OCTET_STRING, DerError, expect, fields_of, read_value
from kafkapy.security.tls.key_store import KeyEntry, KeyStore, PrivateKey, StoreError, TrustedEntry
from kafkapy.security.tls.pbe import PbeError, WrongPasswordError, decrypt, is_pbes1

KEY_ALIAS: Final = "kafka"
"""The alias of a PEM store's only key, as in Apache."""

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----\s*?\n?(.*?)-----END \1-----", re.DOTALL)
_CERTIFICATES = ("CERTIFICATE", "X509 CERTIFICATE")
_LEGACY_ENCRYPTION = "Proc-Type: 4,ENCRYPTED"


def pem_key_store(key_text: str, chain_text: str, password: str | None, origin: str) -> KeyStore:
    """A store of one key.

    Parameters:
        key_text: PEM with one private key: PKCS#8, encrypted or not, or OpenSSL's older forms. Other blocks are passed over.
        chain_text: PEM with the key's certificate, then those of its issuers. It may be the same text.
        password: What an encrypted key is decrypted with (`ssl.key.password`).
        origin: What to call it in a sentence.

    Raises:
        StoreError: There is no key, or several; no certificate; the password is missing or wrong.
        MissingExtra: The key is encrypted in an older way, and `cryptography` is not installed.
    """
    keys = [(name, body) for name, body in _blocks(key_text) if name.endswith("PRIVATE KEY")]
    if not keys:
        raise StoreError(f"{origin}: it has no private key (-----BEGIN PRIVATE KEY-----)")
    if len(keys) > 1:
        raise StoreError(
            f"{origin}: it has {len(keys)} private keys; leave the one that belongs to the first certificate"
        )
    chain = _certificates(chain_text, origin)
    entry = KeyEntry(KEY_ALIAS, _private_key(*keys[0], password, origin), tuple(chain))
    return KeyStore(origin, (entry,), (), (KEY_ALIAS,))


def pem_trust_store(text: str, origin: str) -> KeyStore:
    """Return a store with the certificates of a text, all of them trusted. Raises StoreError."""
    trusted = [TrustedEntry(f"kafka{n}", each) for n, each in enumerate(_certificates(text, origin))]
    return KeyStore(origin, (), tuple(trusted), tuple(each.alias for each in trusted))


def to_pem(name: str, encoded: bytes) -> bytes:
    """Return one block.

    Example:
        >>> print(to_pem("CERTIFICATE", b"abc").decode(), end="")
        -----BEGIN CERTIFICATE-----
        YWJj
        -----END CERTIFICATE-----
    """
    text = base64.b64encode(encoded)
    lines = b"\n".join(text[at : at + 64] for at in range(0, len(text), 64))
    return b"-----BEGIN %b-----\n%b\n-----END %b-----\n" % (name.encode(), lines, name.encode())


def _blocks(text: str) -> list[tuple[str, str]]:
    return _BLOCK.findall(text)


def _certificates(text: str, origin: str) -> list[bytes]:
    found: list[bytes] = []
    for name, body in _blocks(text):
        if name in _CERTIFICATES:
            what = f"{origin}: certificate {len(found) + 1}"
            encoded = _decoded(body, what)
            try:
                fields_of(read_value(encoded), 3)
            except DerError as error:
                raise StoreError(f"{what} cannot be read: {error}; copy it anew") from None
            found.append(encoded)
    if not found:
        raise StoreError(f"{origin}: it has no certificate (-----BEGIN CERTIFICATE-----)")
    return found


def _private_key(name: str, body: str, password: str | None, origin: str) -> PrivateKey:
    if _LEGACY_ENCRYPTION in body:
        text = f"-----BEGIN {name}-----\n{body.strip()}\n-----END {name}-----\n"
        return PrivateKey(text.encode(), _required(password, origin))
    encoded = _decoded(body, f"{origin}: the private key")
    if name != "ENCRYPTED PRIVATE KEY":
        return PrivateKey(to_pem(name, encoded))
    secret = _required(password, origin)
    try:
        algorithm, ciphertext = fields_of(read_value(encoded), 2)[:2]
        if not is_pbes1(algorithm):
            return PrivateKey(to_pem(name, encoded), secret)  # OpenSSL decrypts it when it is loaded
        plain = decrypt(algorithm, expect(ciphertext, OCTET_STRING).content, secret)
        fields_of(read_value(plain), 3)
    except (WrongPasswordError, DerError):
        raise StoreError(f"{origin}: the private key cannot be decrypted; check ssl.key.password") from None
    except PbeError as error:
        raise StoreError(
            f"{origin}: the private key cannot be decrypted: {error}; encrypt it anew with: openssl pkcs8 -topk8"
        ) from None
    return PrivateKey(to_pem("PRIVATE KEY", plain))


def _required(password: str | None, origin: str) -> str:
    if password is None:
        raise StoreError(f"{origin}: the private key is encrypted; set ssl.key.password")
    return password


def _decoded(body: str, what: str) -> bytes:
    try:
        # Headers ("Name: value") and an empty line may precede the text.
        lines = [line for line in body.splitlines() if ":" not in line]
        return base64.b64decode("".join("".join(lines).split()), validate=True)
    except (binascii.Error, ValueError):
        raise StoreError(f"{what} is no Base64; copy it anew") from None
