#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/_run.sh" schema_registry_start "$@"
