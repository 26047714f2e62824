"""connect-distributed: runs a Connect worker of a group until a signal stops it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from kafkapy.common.extras import MissingExtra, need

USAGE = "USAGE: connect-distributed.sh [-daemon] connect-distributed.properties"


def main(argv: Sequence[str] | None = None) -> int:
    try:
        need("rest", "twisted", by="A Connect worker")
    except MissingExtra as missing:
        print(missing, file=sys.stderr)
        return 1
    from kafkapy.http.process import HttpProcess, ServerCommand, run_command

    def make(properties: dict[str, str], _: Sequence[str], reactor: Any) -> HttpProcess:
        from kafkapy.connect.distributed import DistributedProcess

        return DistributedProcess(properties, reactor)

    command = ServerCommand("connect-distributed", "connect.connect_distributed", USAGE)
    return run_command(command, list(sys.argv[1:] if argv is None else argv), make)


if __name__ == "__main__":
    sys.exit(main())
