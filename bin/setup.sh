#!/bin/sh
# Makes the clone ready to run: a virtual environment in .venv with kafkapy and what it needs.
#   bin/setup.sh [EXTRA...]    (extras of setup.cfg; without any: zookeeper quickstart)
#   bin/setup.sh compile       and the hot paths as machine code, where there is a C compiler: two to ten minutes, once
# Does nothing if that has been done, and waits if another setup.sh is at it.
set -e
base=$(dirname "$(dirname "$(readlink -f "$0")")")
[ $# -gt 0 ] || set -- zookeeper quickstart

for candidate in python3.14 python3.13 python3.12 python3.11 python3; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        exec "$candidate" "$base/bin/_setup.py" "$@"
    fi
done
echo "kafkapy needs Python 3.11 or newer, and there is none on the PATH. Install it, e.g. apt install python3.11 python3.11-venv" >&2
exit 1
