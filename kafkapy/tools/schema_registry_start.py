"""schema-registry-start: runs one instance of the schema registry until a signal stops it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from kafkapy.common.extras import MissingExtra, need


def main(argv: Sequence[str] | None = None) -> int:
    try:
        need("registry", "twisted", by="The schema registry")
    except MissingExtra as missing:
        print(missing, file=sys.stderr)
        return 1
    from kafkapy.http.process import HttpProcess, run_server

    def make(properties: dict[str, str], reactor: Any) -> HttpProcess:
        import logging

        from kafkapy.registry.config import RegistryConfig
        from kafkapy.registry.server import RegistryServer

        config = RegistryConfig.of(properties)
        for warning in config.warnings:
            logging.getLogger("kafkapy.registry").warning("%s", warning)
        return RegistryServer(config, reactor)

    return run_server("schema-registry-start", list(sys.argv[1:] if argv is None else argv), make)


if __name__ == "__main__":
    sys.exit(main())
