#!/bin/sh
# Runs one tool: _run.sh MODULE [ARGUMENTS]. Every command in bin/ comes here. Makes the environment first if there is none.
# MODULE: of kafkapy.tools, unless it has a dot.
base=$(dirname "$(dirname "$(readlink -f "$0")")")
python="$base/.venv/bin/python"
if [ ! -x "$python" ] || [ ! -e "$base/.venv/.kafkapy-setup" ]; then
    echo "kafkapy: there is no environment yet; bin/setup.sh makes one in $base/.venv first" >&2
    "$base/bin/setup.sh" >&2 || exit 1
fi
case $1 in *.*) module=$1 ;; *) module=kafkapy.tools.$1 ;; esac
shift
PYTHONPATH="$base${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONPATH
exec "$python" -m "$module" "$@"
