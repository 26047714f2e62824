#!/bin/sh
# Runs one tool: _run.sh MODULE [ARGUMENTS]. Every command in bin/ comes here. Makes the environment first if there is none.
base=$(dirname "$(dirname "$(readlink -f "$0")")")
python="$base/.venv/bin/python"
if [ ! -x "$python" ] || [ ! -e "$base/.venv/.kafkapy-setup" ]; then
    echo "kafkapy: there is no environment yet; bin/setup.sh makes one in $base/.venv first" >&2
    "$base/bin/setup.sh" >&2 || exit 1
fi
module=$1
shift
PYTHONPATH="$base${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONPATH
exec "$python" -m "kafkapy.tools.$module" "$@"
