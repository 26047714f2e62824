"""The choice among the cipher suites of TLS 1.3, which Python's `ssl` leaves to OpenSSL before 3.15."""

from __future__ import annotations

import ctypes
import platform
import ssl
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

_KNOWN_LAYOUTS = ((3, 11), (3, 14))
"""The first and last CPython whose `SSLContext` is known to begin with the pointer to OpenSSL's context."""


def choose_suites(context: ssl.SSLContext, suites: Sequence[str]) -> None:
    """Let a context offer these suites of TLS 1.3 alone, in this order.

    Parameters:
        context: Not used for a connection yet.
        suites: Names of TLS 1.3; at least one.

    Raises:
        ssl.SSLError: OpenSSL lacks one of them.
        NotImplementedError: `can_choose_suites()` is false.
    """
    if hasattr(context, "set_ciphersuites"):
        choose: Any = context
        choose.set_ciphersuites(":".join(suites))
        return
    if not can_choose_suites():
        raise NotImplementedError("this Python cannot choose among the suites of TLS 1.3")
    if not _set_ciphersuites()(_pointer(context), ":".join(suites).encode()) or tls_1_3_suites_of(context) != [*suites]:
        raise ssl.SSLError(f"{ssl.OPENSSL_VERSION} lacks one of {', '.join(suites)}")


@cache
def can_choose_suites() -> bool:
    """Whether `choose_suites` works here."""
    if hasattr(ssl.SSLContext, "set_ciphersuites"):
        return True
    first, last = _KNOWN_LAYOUTS
    if platform.python_implementation() != "CPython" or not first <= sys.version_info[:2] <= last:
        return False
    try:
        return _set_ciphersuites() is not None
    except (ImportError, OSError, AttributeError):
        return False


def tls_1_3_suites_of(context: ssl.SSLContext) -> list[str]:
    """The suites of TLS 1.3 that a context offers."""
    return [each["name"] for each in context.get_ciphers() if each["protocol"] == "TLSv1.3"]


@cache
def _set_ciphersuites() -> Any:
    import _ssl

    # By the module itself, so that it is the OpenSSL that the module is linked with.
    function = ctypes.CDLL(_ssl.__file__).SSL_CTX_set_ciphersuites
    function.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
    function.restype = ctypes.c_int
    return function


def _pointer(context: ssl.SSLContext) -> int | None:
    return ctypes.c_void_p.from_address(id(context) + object.__basicsize__).value
