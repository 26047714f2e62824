#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/_run.sh" servers.kafka_server_stop "$@"
