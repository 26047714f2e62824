"""zookeeper-server-start, under the name by which its process is found."""

import sys

from kafkapy.tools.zookeeper.server_start import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
