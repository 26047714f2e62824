#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/_run.sh" perf.consumer_perf_test "$@"
