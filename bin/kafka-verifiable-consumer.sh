#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/_run.sh" verifiable.verifiable_consumer "$@"
