#!/bin/sh
# From events to tables on real input of this machine. See: bin/demo-pipeline.sh --help
exec "$(dirname "$(readlink -f "$0")")/_run.sh" examples.pipeline "$@"
