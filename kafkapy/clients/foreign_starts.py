"""Recognizes peers that aren't Kafka brokers by the first bytes that they send."""

from __future__ import annotations

ANSWERS_IN_TLS = "answers in TLS; set security_protocol to SSL or SASL_SSL, or give the port of a plaintext listener"
ANSWERS_IN_PLAINTEXT = (
    "answers in plaintext; set security_protocol to PLAINTEXT or SASL_PLAINTEXT, or give the port of a TLS listener"
)
ANSWERS_NOT_IN_TLS = "does not answer in TLS; check the port and security_protocol"
_ANSWERS_IN = "answers in {}; give the port of a Kafka listener"

_STARTS = {
    b"HTTP": "HTTP",
    b"<!DO": "HTTP",  # after a request line without a version, the body comes without headers
    b"<htm": "HTTP",
    b"SSH-": "SSH",
    b"220 ": "SMTP or FTP",
    b"-ERR": "the protocol of Redis",
}
_TLS_RECORDS = (0x14, 0x15, 0x16, 0x17)


def told_by(start: bytes | bytearray | memoryview) -> str | None:
    """Describe a peer by its first four bytes, as text that follows its address; None if they are not recognized."""
    first = bytes(start[:4])
    if len(first) == 4 and first[0] in _TLS_RECORDS and first[1] == 3 and first[2] <= 4:
        return ANSWERS_IN_TLS
    name = _STARTS.get(first)
    return None if name is None else _ANSWERS_IN.format(name)
