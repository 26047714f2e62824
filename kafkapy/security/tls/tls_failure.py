"""Describes why a TLS session failed, as a message and as an alert."""

from __future__ import annotations

import re
import ssl
from typing import Final, NamedTuple

HANDSHAKE_TOO_LONG: Final = "the handshake sends more than a handshake may"
PLAINTEXT_CLIENT: Final = (
    "a plaintext client on a TLS port: its first bytes are a Kafka request without TLS; "
    "its security.protocol must be SSL or SASL_SSL, or it must use the port of a plaintext listener"
)
PLAINTEXT_SERVER: Final = (
    "the server does not speak TLS: set security.protocol to PLAINTEXT or SASL_PLAINTEXT, or give the port of a TLS "
    "listener"
)
_FOREIGN = {
    b"GET ": "HTTP",
    b"POST": "HTTP",
    b"PUT ": "HTTP",
    b"HEAD": "HTTP",
    b"OPTI": "HTTP",
    b"CONN": "HTTP",
    b"DELE": "HTTP",
    b"PRI ": "HTTP/2",
    b"HTTP": "HTTP",
    b"SSH-": "SSH",
}
_RECORD_TYPES = (0x14, 0x15, 0x16, 0x17)
_RECEIVED_ALERT = re.compile(r"(?:TLSV1|TLSV13|SSLV3)_ALERT_(\w+)|TLSV1_(\w+)")

_SENTENCES = {
    "unknown_ca": "the peer does not trust the certificate: its trust store lacks the authority that signed it",
    "bad_certificate": "the peer refuses the certificate",
    "certificate_expired": "the peer finds the certificate expired",
    "certificate_unknown": "the peer refuses the certificate: its trust store may lack the authority that signed it",
    "certificate_revoked": "the peer finds the certificate revoked",
    "certificate_required": "the peer asks for a certificate, and there is none: set ssl.keystore.location",
    "handshake_failure": "the peer refuses: no protocol version or cipher suite is common to both, or it misses a certificate",
    "protocol_version": "the peer refuses the protocol version; see ssl.enabled.protocols",
    "unrecognized_name": "the peer has no certificate for the name it was asked for",
    "insufficient_security": "the peer finds the cipher suites or keys too weak",
    "internal_error": "the peer has failed",
    "decrypt_error": "the peer cannot verify the signature of the handshake",
    "access_denied": "the peer denies access",
}
_LOCAL = {
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": (
        "certificate_required",
        "the client has sent no certificate, and ssl.client.auth=required",
    ),
    "NO_SHARED_CIPHER": (
        "handshake_failure",
        "the two have no cipher suite in common; see ssl.cipher.suites, and the kind of the server's key",
    ),
    "UNSUPPORTED_PROTOCOL": (
        "protocol_version",
        "the two have no protocol version in common; see ssl.enabled.protocols",
    ),
    "WRONG_VERSION_NUMBER": ("protocol_version", "what comes is no TLS"),
    "NO_SUITABLE_SIGNATURE_ALGORITHM": (
        "handshake_failure",
        "the two have no way to sign in common; see the kind of the server's key",
    ),
    "EXCESSIVE_MESSAGE_SIZE": ("illegal_parameter", "a message of the handshake is too large"),
    "DECRYPTION_FAILED_OR_BAD_RECORD_MAC": ("bad_record_mac", "a record is damaged"),
}


class TlsFailure(NamedTuple):
    """The end of a session.

    `alert` is the TLS alert (RFC 8446, section 6) by its name, None if it is unknown; `received`: whether the peer sent
    it.
    """

    sentence: str
    alert: str | None = None
    received: bool = False

    def __str__(self) -> str:
        return self.sentence


def failure_of(error: ssl.SSLError, first_bytes: bytes, server_side: bool) -> TlsFailure:
    """Return the meaning of an error of OpenSSL.

    Parameters:
        error: The error.
        first_bytes: The first bytes of the peer; eight are enough.
        server_side: Whether the peer is a client.
    """
    foreign = foreign_peer(first_bytes, server_side)
    if foreign is not None:
        return TlsFailure(foreign, "unexpected_message")
    reason = error.reason or ""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _not_verified(error, server_side)
    match = _RECEIVED_ALERT.fullmatch(reason)
    if match is not None:
        alert = (match[1] or match[2]).lower()
        sentence = _SENTENCES.get(alert, f"the peer ends the session with the alert {alert}")
        return TlsFailure(sentence, alert, received=True)
    if reason in _LOCAL:
        alert, sentence = _LOCAL[reason]
        return TlsFailure(sentence, alert)
    if isinstance(error, ssl.SSLEOFError):
        return TlsFailure("the peer has closed the connection in the midst of TLS")
    return TlsFailure(f"what the peer sends is no valid TLS ({reason or error})")


def foreign_peer(first_bytes: bytes, server_side: bool) -> str | None:
    """Return a message about a peer that does not use TLS, judging by its first bytes; None if they may be TLS.

    Example:
        >>> foreign_peer(b"GET / HT", server_side=True)
        'what comes is HTTP, not TLS: this is the port of a Kafka listener'
    """
    start = first_bytes[:4]
    if not start or (start[0] in _RECORD_TYPES and start[1:2] in (b"", b"\3")):
        return None
    if start in _FOREIGN:
        return f"what comes is {_FOREIGN[start]}, not TLS: this is the port of a Kafka listener"
    if start[0] == 0:  # the size of a frame below 16 MB
        return PLAINTEXT_CLIENT if server_side else PLAINTEXT_SERVER
    return None


def _not_verified(error: ssl.SSLCertVerificationError, server_side: bool) -> TlsFailure:
    why = error.verify_message.rstrip(".")
    code = error.verify_code
    if code in (62, 64):  # a name, an address
        alert, advice = "bad_certificate", "the certificate must name the host (subjectAltName)"
    elif code in (9, 10):
        alert, advice = "certificate_expired", "renew it, or check the clocks"
    elif code in (18, 19, 20, 21):
        alert = "unknown_ca"
        advice = "put the certificate of the authority that signed it into ssl.truststore.location (ssl_cafile)"
    else:
        alert, advice = "bad_certificate", "see ssl.truststore.location (ssl_cafile)"
    whose = "client" if server_side else "server"
    return TlsFailure(f"the {whose}'s certificate is refused: {why}; {advice}", alert)
