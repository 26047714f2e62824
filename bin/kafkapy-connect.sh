#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/_run.sh" connect.connect_cli "$@"
