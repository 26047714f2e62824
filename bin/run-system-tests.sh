#!/usr/bin/env bash
# Sets up .venv if need be, then runs the system tests: a real ZooKeeper, real brokers and clients, real faults.
#   bin/run-system-tests.sh [OPTION...] [PYTEST-ARGUMENT...]
#     --short           the selection that bin/run-tests.sh runs too (under three minutes, instead of about 40)
#     --kills N         how often the broker is killed under load (default: 20; --short: 3)
#     --outage SECONDS  how long ZooKeeper is away (default: 30; --short: 5)
#     --chaos           only random faults against a cluster under load, which --seed N, --faults N, --brokers N and
#                       --clients N change (default: 1, 20, 1, 4); the same seed gives the same faults
#     --report FILE     write the summary to FILE as well
# Some tests need root (a full disk) or the jars of Apache Kafka 3.9.1 in $KAFKAPY_APACHE_JARS; without, they are skipped.
set -euo pipefail
case "${1:-}" in -h|--help) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit;; esac
cd "$(dirname "$(readlink -f "$0")")/.."
bin/setup.sh compile zookeeper quickstart test >&2
arguments=()
targets=(system_tests)
for argument in "$@"; do
    case "$argument" in
        --short) arguments+=(-m "not long");;
        --chaos) targets=(system_tests/test_chaos.py);;
        system_tests/*) targets=(); arguments+=("$argument");;
        *) arguments+=("$argument");;
    esac
done
# without pytest-twisted, which keeps SIGINT and SIGTERM from ending a run
exec .venv/bin/python -m pytest -p no:twisted -vv -rfER "${targets[@]}" "${arguments[@]}"
