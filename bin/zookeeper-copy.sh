#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/_run.sh" zookeeper.zookeeper_copy "$@"
