"""`python -m kafkapy.tools.reassign_partitions`"""

import sys

from kafkapy.tools.reassign_partitions.reassign_partitions import main

if __name__ == "__main__":
    sys.exit(main())
