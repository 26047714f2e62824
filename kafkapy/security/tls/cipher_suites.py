"""Cipher suites by IANA's names, which Java uses, and by OpenSSL's."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

TLS_1_3_SUITES: Final = (
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_128_CCM_SHA256",
    "TLS_AES_128_CCM_8_SHA256",
)
"""The names are the same in Java and OpenSSL. The first three are OpenSSL's defaults."""

_NAME = re.compile(r"(?:TLS|SSL)_(\w+?)_WITH_(\w+)")
_KEY_EXCHANGES = {
    "RSA": "",
    "DHE_RSA": "DHE-RSA-",
    "DHE_DSS": "DHE-DSS-",
    "ECDHE_RSA": "ECDHE-RSA-",
    "ECDHE_ECDSA": "ECDHE-ECDSA-",
    "DH_ANON": "ADH-",
    "ECDH_ANON": "AECDH-",
}
_CIPHER = re.compile(r"(AES|CAMELLIA|ARIA)_(128|256)_(GCM|CBC|CCM_8|CCM)(?:_(SHA|SHA256|SHA384))?")
_OTHERS = {
    "CHACHA20_POLY1305_SHA256": "CHACHA20-POLY1305",
    "3DES_EDE_CBC_SHA": "DES-CBC3-SHA",
    "RC4_128_SHA": "RC4-SHA",
    "RC4_128_MD5": "RC4-MD5",
    "NULL_SHA": "NULL-SHA",
    "NULL_SHA256": "NULL-SHA256",
    "NULL_MD5": "NULL-MD5",
}
_SIGNALS = ("TLS_EMPTY_RENEGOTIATION_INFO_SCSV", "TLS_FALLBACK_SCSV")


class CipherSuites(NamedTuple):
    """The suites in `ssl.cipher.suites`, in order: OpenSSL's names for TLS 1.2, suites of TLS 1.3, and unknown names."""

    tls_1_2: list[str]
    tls_1_3: list[str]
    unknown: list[str]

    @classmethod
    def of(cls, names: list[str]) -> CipherSuites:
        """
        Example:
            >>> CipherSuites.of(["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"]).tls_1_2
            ['ECDHE-RSA-AES128-GCM-SHA256']
        """
        found = cls([], [], [])
        for name in names:
            if name in TLS_1_3_SUITES:
                found.tls_1_3.append(name)
            elif (translated := openssl_name(name)) is not None:
                found.tls_1_2.append(translated)
            elif name not in _SIGNALS:
                found.unknown.append(name)
        return found


def openssl_name(name: str) -> str | None:
    """Return OpenSSL's name of a suite up to TLS 1.2; None if the name is unknown. OpenSSL's own names are returned
    unchanged.

    Example:
        >>> openssl_name("TLS_RSA_WITH_AES_256_CBC_SHA")
        'AES256-SHA'
    """
    match = _NAME.fullmatch(name)
    if match is None:
        is_own = "-" in name and re.fullmatch(r"[A-Z0-9]+(?:-[A-Z0-9]+)+", name) is not None
        return name if is_own else None
    exchange, cipher = match[1].upper(), match[2]
    if exchange not in _KEY_EXCHANGES:
        return None
    translated = _OTHERS.get(cipher) or _translated(cipher, exchange)
    return None if translated is None else _prefix(exchange, cipher) + translated


def _translated(cipher: str, exchange: str) -> str | None:
    match = _CIPHER.fullmatch(cipher)
    if match is None:
        return None
    name, bits, mode, digest = match.groups()
    if mode in ("CCM", "CCM_8"):
        return f"{name}{bits}-{mode.replace('_', '')}"
    if digest is None:
        return None
    return f"{name}{bits}-{'GCM-' if mode == 'GCM' else ''}{digest}"


def _prefix(exchange: str, cipher: str) -> str:
    if exchange == "ECDHE_RSA" and cipher.startswith("ARIA"):
        return "ECDHE-"  # the one that OpenSSL names without what signs
    return _KEY_EXCHANGES[exchange]
