"""PKCS#12 stores (RFC 7292) of keytool and OpenSSL: several keys, trusted certificates, aliases.

OpenSSL's own reader is not used, because it returns only the first key and does not distinguish trusted certificates
from a chain's.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import NamedTuple

from kafkapy.common.java_hash_order import hash_map_order
from kafkapy.security.tls.certificate_fields import certificate_fields
from kafkapy.security.tls.der import (
    BMP_STRING,
    INTEGER,
    OCTET_STRING,
    SET,
    DerError,
    DerValue,
    expect,
    fields_of,
    read_first,
    read_value,
)
from kafkapy.security.tls.key_store import KeyEntry, KeyStore, PrivateKey, StoreError, TrustedEntry
from kafkapy.security.tls.pbe import PbeError, WrongPasswordError, decrypt, hmac_is, pbkdf2, pkcs12_kdf
from kafkapy.security.tls.pem import to_pem

_DATA, _ENCRYPTED_DATA = "1.2.840.113549.1.7.1", "1.2.840.113549.1.7.6"
_KEY_BAG, _SHROUDED_KEY_BAG, _CERT_BAG, _NESTED = (f"1.2.840.113549.1.12.10.1.{n}" for n in (1, 2, 3, 6))
_FRIENDLY_NAME, _LOCAL_KEY_ID = "1.2.840.113549.1.9.20", "1.2.840.113549.1.9.21"
_TRUSTED_KEY_USAGE = "2.16.840.1.113894.746875.1.1"
_X509 = "1.2.840.113549.1.9.22.1"
_PBMAC1 = "1.2.840.113549.1.5.14"
_DIGESTS = {
    "1.3.14.3.2.26": "sha1",
    "2.16.840.1.101.3.4.2.1": "sha256",
    "2.16.840.1.101.3.4.2.2": "sha384",
    "2.16.840.1.101.3.4.2.3": "sha512",
    "2.16.840.1.101.3.4.2.4": "sha224",
    "1.2.840.113549.2.9": "sha256",
    "1.2.840.113549.2.10": "sha384",
    "1.2.840.113549.2.11": "sha512",
}
_MAX_NESTING = 4


class _Attributes(NamedTuple):
    alias: str | None
    key_id: bytes | None
    trusted: bool


class _KeyBag(NamedTuple):
    bag: DerValue
    shrouded: bool
    attributes: _Attributes


class _CertBag(NamedTuple):
    certificate: bytes
    attributes: _Attributes


@dataclass
class _Bags:
    keys: list[_KeyBag] = field(default_factory=list)
    certificates: list[_CertBag] = field(default_factory=list)


def pkcs12_store(
    data: bytes, password: str | None, key_password: str | None, origin: str, *, trust_all: bool = False
) -> KeyStore:
    """The entries of a store.

    Parameters:
        data: The file.
        password: Of the store; None leaves its integrity unchecked, and what is encrypted out, as Java does for a truststore.
        key_password: Of the keys, which may be another; None leaves keys closed: their own certificates are trusted ones,
            as of a store that Java uses as a truststore.
        origin: What to call it in a sentence.
        trust_all: Of a store without any key, certificates that keytool has not marked as trusted are trusted, too: OpenSSL
            writes such stores, which Java takes for empty ones.

    Raises:
        StoreError: It is damaged, or a password is wrong.
        MissingExtra: `cryptography` is not installed.
    """
    try:
        fields = fields_of(read_value(data), 2)
        content = _content_of(fields_of(fields[1], 2))
        if password is not None and len(fields) > 2:
            _check_mac(fields[2], content, password)
        bags = _bags_of(content, password)
        return _store(bags, key_password, origin, trust_all)
    except WrongPasswordError:
        raise StoreError(
            f"{origin}: the password of the store is wrong, or the file is damaged; check ssl.*.password"
        ) from None
    except PbeError as error:
        raise StoreError(f"{origin}: {error}; convert it with: keytool -importkeystore -deststoretype pkcs12") from None
    except DerError as error:
        raise StoreError(
            f"{origin} is no PKCS12 store, or it is damaged: {error}; keytool -list -keystore says what is in it"
        ) from None


def _content_of(info: list[DerValue]) -> bytes:
    if info[0].as_oid() != _DATA:
        raise DerError("its content is signed, or of another kind that is not known")
    return expect(read_value(info[1].content), OCTET_STRING).content


def _check_mac(mac: DerValue, content: bytes, password: str) -> None:
    fields = fields_of(mac, 2)
    algorithm, digest = fields_of(fields[0], 2)[:2]
    name = fields_of(algorithm, 1)[0].as_oid()
    if name == _PBMAC1:
        derivation, function = fields_of(fields_of(algorithm, 2)[1], 2)[:2]
        key = pbkdf2(fields_of(derivation, 2)[1], password, 32)
        name = fields_of(function, 1)[0].as_oid()
    else:
        iterations = fields[2].as_int() if len(fields) > 2 else 1
        kind = _DIGESTS.get(name)
        if kind is None:
            raise PbeError(f"its integrity is protected by an algorithm that is not known ({name})")
        key = pkcs12_kdf(kind, 3, password, fields[1].content, iterations, hashlib.new(kind).digest_size)
    if name not in _DIGESTS:
        raise PbeError(f"its integrity is protected by an algorithm that is not known ({name})")
    if not hmac_is(key, _DIGESTS[name], content, digest.content):
        raise WrongPasswordError("the password is wrong")


def _bags_of(content: bytes, password: str | None) -> _Bags:
    found = _Bags()
    for info in fields_of(read_value(content), 0):
        parts = fields_of(info, 2)
        kind = parts[0].as_oid()
        if kind == _DATA:
            _collect(_content_of(parts), found)
        elif kind == _ENCRYPTED_DATA:
            if password is not None:
                _collect(_decrypted(read_value(parts[1].content), password), found)
        else:
            raise DerError("a part of it is encrypted for a public key")
    return found


def _decrypted(encrypted: DerValue, password: str) -> bytes:
    info = fields_of(fields_of(encrypted, 2)[1], 3)
    ciphertext = info[2]
    if ciphertext.tag != 0x80:
        raise DerError("encrypted content in pieces (BER)")
    try:
        plain = decrypt(info[1], ciphertext.content, password)
        read_value(plain)
    except DerError:
        # The padding of a wrong password's plaintext may be valid by chance; then it is not DER.
        raise WrongPasswordError("the password is wrong") from None
    return plain


def _collect(contents: bytes, found: _Bags, depth: int = 0) -> None:
    if depth > _MAX_NESTING:
        raise DerError("bags within bags within bags")
    for bag in fields_of(read_value(contents), 0):
        parts = fields_of(bag, 2)
        kind = parts[0].as_oid()
        value = read_value(parts[1].content)
        attributes = _attributes(parts[2]) if len(parts) > 2 else _Attributes(None, None, False)
        if kind in (_KEY_BAG, _SHROUDED_KEY_BAG):
            found.keys.append(_KeyBag(value, kind == _SHROUDED_KEY_BAG, attributes))
        elif kind == _CERT_BAG:
            cert = fields_of(value, 2)
            if cert[0].as_oid() == _X509:
                encoded = expect(read_value(cert[1].content), OCTET_STRING).content
                found.certificates.append(_CertBag(encoded, attributes))
        elif kind == _NESTED:
            _collect(value.encoded, found, depth + 1)


def _attributes(encoded: DerValue) -> _Attributes:
    alias, key_id, trusted = None, None, False
    for attribute in expect(encoded, SET).children():
        name, values = fields_of(attribute, 2)[:2]
        kind = name.as_oid()
        if kind == _TRUSTED_KEY_USAGE:
            trusted = True
        elif kind == _FRIENDLY_NAME:
            alias = expect(read_first(values.content), BMP_STRING).content.decode("utf-16-be", "replace").lower()
        elif kind == _LOCAL_KEY_ID:
            key_id = read_first(values.content).content
    return _Attributes(alias, key_id, trusted)


def _store(bags: _Bags, key_password: str | None, origin: str, trust_all: bool) -> KeyStore:
    keys: dict[str, KeyEntry] = {}
    trusted: dict[str, TrustedEntry] = {}
    for number, bag in enumerate(bags.keys, 1):
        alias = bag.attributes.alias or str(number)
        chain = _chain(bag.attributes.key_id, bags.certificates, only_key=len(bags.keys) == 1)
        if key_password is not None:
            if not chain:
                raise StoreError(f"{origin}: the key {alias} has no certificate; import it with keytool")
            keys[alias] = KeyEntry(alias, _private_key(bag, alias, key_password, origin), tuple(chain))
        elif chain:
            trusted[alias] = TrustedEntry(alias, chain[0])
    take_all = trust_all and not bags.keys
    for number, each in enumerate(bags.certificates, 1):
        if each.attributes.trusted or take_all:
            alias = each.attributes.alias or f"trusted-{number}"
            while alias in trusted or alias in keys:
                alias += "'"
            trusted[alias] = TrustedEntry(alias, each.certificate)
    aliases = hash_map_order([*keys, *trusted])
    return KeyStore(origin, tuple(keys.values()), tuple(trusted.values()), tuple(aliases))


def _private_key(bag: _KeyBag, alias: str, password: str, origin: str) -> PrivateKey:
    if not bag.shrouded:
        return PrivateKey(to_pem("PRIVATE KEY", bag.bag.encoded))
    algorithm, ciphertext = fields_of(bag.bag, 2)[:2]
    try:
        plain = decrypt(algorithm, expect(ciphertext, OCTET_STRING).content, password)
        expect(fields_of(read_value(plain), 3)[0], INTEGER)
    except (WrongPasswordError, DerError):
        raise StoreError(f"{origin}: the key {alias} cannot be decrypted; check ssl.key.password") from None
    return PrivateKey(to_pem("PRIVATE KEY", plain))


def _chain(key_id: bytes | None, bags: list[_CertBag], *, only_key: bool) -> list[bytes]:
    """Return the certificate of a key and those of its issuers, as far as the store has them."""
    own = next((each.certificate for each in bags if key_id is not None and each.attributes.key_id == key_id), None)
    if own is None and only_key and bags:
        own = bags[0].certificate  # other programs omit the identifier
    if own is None:
        return []
    by_subject = {certificate_fields(each.certificate).subject: each.certificate for each in reversed(bags)}
    chain = [own]
    while len(chain) <= len(bags):
        fields = certificate_fields(chain[-1])
        issuer = by_subject.get(fields.issuer)
        if issuer is None or issuer in chain:
            break
        chain.append(issuer)
    return chain
