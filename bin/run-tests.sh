#!/usr/bin/env bash
# Sets up .venv if need be, then checks the code (ruff, mypy, layers), runs the tests and a short selection of the system tests.
# The hot paths are tested both ways: as plain Python, and as machine code if they could be compiled.
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
KAFKAPY_COMPILED=0 "$bin/python" -m pytest -m "not integration" tests/record tests/log tests/network tests/cluster tests/server
"$bin/python" -m pytest
exec bin/run-system-tests.sh --short
