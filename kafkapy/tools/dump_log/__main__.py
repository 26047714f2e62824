"""`python -m kafkapy.tools.dump_log`"""

import sys

from kafkapy.tools.dump_log.dump_log import main

if __name__ == "__main__":
    sys.exit(main())
