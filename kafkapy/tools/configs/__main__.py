"""`python -m kafkapy.tools.configs`"""

import sys

from kafkapy.tools.configs.configs import main

if __name__ == "__main__":
    sys.exit(main())
