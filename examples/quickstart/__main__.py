import sys

from examples.quickstart.main import main

if __name__ == "__main__":  # the members of the group are processes that import this module again
    sys.exit(main())
