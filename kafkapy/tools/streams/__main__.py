"""`python -m kafkapy.tools.streams`"""

import sys

from kafkapy.tools.streams.streams import main

if __name__ == "__main__":
    sys.exit(main())
