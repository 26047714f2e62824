#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/_run.sh" e2e_latency "$@"
