"""The group of Diffie-Hellman suites of TLS 1.2 (`TLS_DHE_…`), which a server must be given."""

from __future__ import annotations

import ssl
from typing import Final

from kafkapy.security.tls.secret_file import secret_file

FFDHE2048: Final = b"""-----BEGIN DH PARAMETERS-----
MIIBCAKCAQEA//////////+t+FRYortKmq/cViAnPTzx2LnFg84tNpWp4TZBFGQz
+8yTnc4kmz75fS/jY2MMddj2gbICrsRhetPfHtXV/WVhJDP1H18GbtCFY2VVPe0a
87VXE15/V8k1mE8McODmi3fipona8+/och3xWKE2rec1MKzKT0g6eXq8CrGCsyT7
YdEIqUuyyOP7uWrat2DX9GgdT0Kj3jlN9K5W7edjcrsZCwenyO4KbXCeAvzhzffi
7MA0BM0oNC9hkXL+nOmFg/+OTxIy7vKBg8P+OxtMb61zO7X8vC7CIAXFjvGDfRaD
ssbzSibBsu/6iGtCOGEoXJf//////////wIBAg==
-----END DH PARAMETERS-----
"""
"""ffdhe2048 (RFC 7919). It is no secret."""


def use_dh_parameters(context: ssl.SSLContext) -> None:
    """Let a server's context take the suites with DHE that it is set to. Raises OSError, `ssl.SSLError`."""
    with secret_file(FFDHE2048) as path:
        context.load_dh_params(path)
