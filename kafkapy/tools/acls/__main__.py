"""`python -m kafkapy.tools.acls`"""

import sys

from kafkapy.tools.acls.acls import main

if __name__ == "__main__":
    sys.exit(main())
