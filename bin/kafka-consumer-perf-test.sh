#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/_run.sh" consumer_perf_test "$@"
