#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/_run.sh" servers.http_server_stop kafka-rest "$@"
