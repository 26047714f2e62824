#!/usr/bin/env bash
# Sets up .venv if need be, then checks the code (ruff, mypy, layers) and runs all tests. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
bin/setup.sh zookeeper quickstart test >&2
bin=.venv/bin
"$bin/ruff" check .
"$bin/mypy"
"$bin/lint-imports"
exec "$bin/python" -m pytest "$@"
