"""kafka-rest-start: runs the HTTP proxy until a signal stops it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from kafkapy.common.extras import MissingExtra, need


def main(argv: Sequence[str] | None = None) -> int:
    try:
        need("rest", "twisted", by="The HTTP proxy")
    except MissingExtra as missing:
        print(missing, file=sys.stderr)
        return 1
    from kafkapy.http.process import HttpProcess, run_server

    def make(properties: dict[str, str], reactor: Any) -> HttpProcess:
        import logging

        from kafkapy.rest.config import RestConfig
        from kafkapy.rest.server import RestServer

        config = RestConfig.of(properties)
        for warning in config.warnings:
            logging.getLogger("kafkapy.rest").warning("%s", warning)
        return RestServer(config, reactor)

    return run_server("kafka-rest-start", list(sys.argv[1:] if argv is None else argv), make)


if __name__ == "__main__":
    sys.exit(main())
