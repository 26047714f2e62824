"""`python -m kafkapy.tools.cluster_local`"""

import sys

from kafkapy.tools.cluster_local.cluster_local import main

if __name__ == "__main__":
    sys.exit(main())
