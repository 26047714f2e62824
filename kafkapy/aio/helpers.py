"""The names that programs import from `aiokafka.helpers`."""

from __future__ import annotations

import os
from collections.abc import Callable
from os import PathLike
from ssl import Purpose, SSLContext, create_default_context

Path = str | bytes | PathLike[str] | PathLike[bytes]


def create_ssl_context(
    *,
    cafile: Path | None = None,
    capath: Path | None = None,
    cadata: str | bytes | None = None,
    certfile: Path | None = None,
    keyfile: Path | None = None,
    password: Callable[[], str | bytes | bytearray] | str | bytes | bytearray | None = None,
) -> SSLContext:
    """A context for the option `ssl_context`, which checks the broker's certificate and its host name.

    `cafile`, `capath`, `cadata`: whose certificates are trusted; without any those that the machine trusts. `certfile`,
    `keyfile`, `password`: the client's own certificate, for brokers that ask for one.
    """
    trusted = {"cafile": cafile, "capath": capath}
    places = {name: None if path is None else os.fsdecode(path) for name, path in trusted.items()}
    context = create_default_context(Purpose.SERVER_AUTH, cadata=cadata, **places)
    if certfile is not None:
        context.load_cert_chain(certfile, keyfile, password)
    return context
