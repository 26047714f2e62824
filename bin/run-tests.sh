#!/usr/bin/env bash
# Sets up .venv if need be, then checks the code (ruff, mypy, layers), runs the tests and a short selection of the system tests.
# With arguments: only pytest with these.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
bin/setup.sh zookeeper quickstart test >&2
bin=.venv/bin
if [ $# -gt 0 ]; then exec "$bin/python" -m pytest "$@"; fi
"$bin/ruff" check .
"$bin/ruff" format --check --quiet .
"$bin/mypy"
"$bin/lint-imports"
"$bin/python" -m pytest
exec bin/run-system-tests.sh --short
