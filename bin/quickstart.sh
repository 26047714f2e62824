#!/bin/sh
# Sets up .venv if need be, then runs Kafka's quick start on real input. See: bin/quickstart.sh --help
exec "$(dirname "$(readlink -f "$0")")/_run.sh" examples.quickstart "$@"
