#!/usr/bin/env bash
# Sets up .venv if need be, then checks the code (ruff, mypy, layers), runs the tests and a short selection of the system tests.
# The hot paths are tested both ways: as plain Python, and as machine code if they could be compiled.
#   bin/run-tests.sh               everything; reports which lines the tests without a server reach
#   bin/run-tests.sh --fast        the checks, and the tests that start no server: an answer in a minute
#   bin/run-tests.sh ARGUMENT...   only pytest with these
set -euo pipefail
case "${1:-}" in -h|--help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit;; esac
cd "$(dirname "$(readlink -f "$0")")/.."
bin=.venv/bin
if [ $# -gt 0 ] && [ "$1" != --fast ]; then
    bin/setup.sh compile zookeeper quickstart test >&2
    exec "$bin/python" -m pytest "$@"
fi
KAFKAPY_COMPILED=0 bin/setup.sh compile zookeeper quickstart test >&2
"$bin/ruff" check .
"$bin/ruff" format --check --quiet .
if [ $# -gt 0 ]; then
    "$bin/mypy" & types=$!
    KAFKAPY_COMPILED=0 "$bin/python" -m pytest -n 2 -m "not integration"
    wait $types
    exec "$bin/lint-imports"
fi
"$bin/python" -m kafkapy.tools.compile & compilation=$!
"$bin/mypy"
"$bin/lint-imports"
"$bin/coverage" erase
KAFKAPY_COMPILED=0 "$bin/coverage" run -m pytest -n 2 -m "not integration"
"$bin/coverage" combine --quiet
echo "Lines of kafkapy that tests without a server reach: $("$bin/coverage" report --format=total) % (.venv/bin/coverage report lists the rest)"
wait $compilation || true  # it says why; then the tests run as plain Python
"$bin/python" -m pytest -n 2 --dist loadfile
exec bin/run-system-tests.sh --short
