"""kafka-server-start, as a module of that name, since tools find a broker's process by it."""

import sys

from kafkapy.tools.servers.kafka_server import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
