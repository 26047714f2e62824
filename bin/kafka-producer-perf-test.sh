#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/_run.sh" perf.producer_perf_test "$@"
