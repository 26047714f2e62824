"""`python -m kafkapy.tools.topics`"""

import sys

from kafkapy.tools.topics.topics import main

if __name__ == "__main__":
    sys.exit(main())
