"""`python -m kafkapy.tools.transactions`"""

import sys

from kafkapy.tools.transactions.transactions import main

if __name__ == "__main__":
    sys.exit(main())
