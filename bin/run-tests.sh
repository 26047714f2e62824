#!/usr/bin/env bash
# Sets up .venv if need be, then checks the code (ruff, mypy, layers), runs the tests and a short selection of the system tests.
# The hot paths are tested both ways: as plain Python, and as machine code if they could be compiled. Packages that have no
# hot module are the same code either way, so their tests run once.
# A step that fails hides none of those after it: the last lines name all that failed, and the exit status is not 0.
#   bin/run-tests.sh               everything
#   bin/run-tests.sh --fast        the checks, and the tests that start no server: an answer in minutes
#   bin/run-tests.sh --lint        only the checks: ruff, mypy, the layers of imports
#   bin/run-tests.sh --coverage    only which lines of kafkapy the tests without a server reach
#   bin/run-tests.sh ARGUMENT...   only pytest with these
set -uo pipefail
case "${1:-}" in -h|--help) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit;; esac
cd "$(dirname "$(readlink -f "$0")")/.." || exit
bin=.venv/bin
failed=
status=0

step() {  # NAME COMMAND...
    local name=$1 result=0
    shift
    "$@" || result=$?
    [ $result -eq 0 ] || failed+="FAILED: $name (status $result)"$'\n' status=$result
}

finish() {
    if [ -n "$failed" ]; then printf '%s' "$failed" >&2; else echo "All steps passed."; fi
    exit $status
}

# bash waits for the step at hand before it acts on these, so a time limit of the caller still finds it here
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'kill $(jobs -p) 2>/dev/null' EXIT

if [ "${1:-}" = --coverage ]; then
    KAFKAPY_COMPILED=0 bin/setup.sh compile zookeeper quickstart test >&2 || exit
    "$bin/coverage" erase
    step "tests without a server" env KAFKAPY_COMPILED=0 "$bin/coverage" run -m pytest -n 2 -m "not integration"
    "$bin/coverage" combine --quiet && "$bin/coverage" report
    finish
elif [ $# -gt 0 ] && [ "$1" != --fast ] && [ "$1" != --lint ]; then
    bin/setup.sh compile zookeeper quickstart test >&2 || exit
    exec "$bin/python" -m pytest "$@"
fi
KAFKAPY_COMPILED=0 bin/setup.sh compile zookeeper quickstart test >&2 || exit
step "ruff check" "$bin/ruff" check .
step "ruff format" "$bin/ruff" format --check --quiet .
if [ "${1:-}" = --lint ]; then
    step mypy "$bin/mypy"
    step lint-imports "$bin/lint-imports"
    finish
elif [ $# -gt 0 ]; then
    "$bin/mypy" & types=$!
    step "tests without a server" env KAFKAPY_COMPILED=0 "$bin/python" -m pytest -n 2 -m "not integration"
    step mypy wait $types
    step lint-imports "$bin/lint-imports"
    finish
fi
"$bin/python" -m kafkapy.tools.compile & compilation=$!
step mypy "$bin/mypy"
step lint-imports "$bin/lint-imports"
hot=$("$bin/python" -c 'from kafkapy.compiled import HOT_MODULES; print(*sorted({"tests/" + m.split(".")[1] for m in HOT_MODULES}))')
# shellcheck disable=SC2086  # several directories
step "the hot paths as plain Python" env KAFKAPY_COMPILED=0 "$bin/python" -m pytest -n 2 -m "not integration" tests/coordinator $hot
wait $compilation || true  # it says why; then the tests run as plain Python
step "all tests" "$bin/python" -m pytest -n 3 --dist loadfile
step "system tests" bin/run-system-tests.sh --short
finish
