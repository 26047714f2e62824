#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/_run.sh" perf.e2e_latency "$@"
