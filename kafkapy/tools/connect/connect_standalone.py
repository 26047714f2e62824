"""connect-standalone: runs a Connect worker alone until a signal stops it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from kafkapy.common.extras import MissingExtra, need

USAGE = (
    "USAGE: connect-standalone.sh [-daemon] connect-standalone.properties [connector1.properties connector2.json ...]"
)


def main(argv: Sequence[str] | None = None) -> int:
    try:
        need("rest", "twisted", by="A Connect worker")
    except MissingExtra as missing:
        print(missing, file=sys.stderr)
        return 1
    from kafkapy.http.process import HttpProcess, ServerCommand, run_command

    def make(properties: dict[str, str], files: Sequence[str], reactor: Any) -> HttpProcess:
        from kafkapy.connect.standalone import StandaloneProcess

        return StandaloneProcess(properties, files, reactor)

    command = ServerCommand("connect-standalone", "connect.connect_standalone", USAGE, takes_files=True)
    return run_command(command, list(sys.argv[1:] if argv is None else argv), make)


if __name__ == "__main__":
    sys.exit(main())
