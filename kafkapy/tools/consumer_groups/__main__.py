"""`python -m kafkapy.tools.consumer_groups`"""

import sys

from kafkapy.tools.consumer_groups.consumer_groups import main

if __name__ == "__main__":
    sys.exit(main())
