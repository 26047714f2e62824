"""zookeeper-server-start, as a module of that name, since tools find a ZooKeeper's process by it."""

import sys

from kafkapy.tools.zookeeper.server_start import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
