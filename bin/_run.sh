#!/bin/sh
# Runs one tool: _run.sh MODULE [ARGUMENTS]. Every command in bin/ comes here. Makes the environment first if there is none.
# MODULE: of kafkapy.tools, unless it begins with "examples.".
base=$(dirname "$(dirname "$(readlink -f "$0")")")
python="$base/.venv/bin/python"
case $1 in
    examples.quickstart) needs=quickstart ;;
    schema_registry_start) needs=registry ;;
    kafka_rest_start | connect.*) needs=rest ;;
    schemas | bus) needs=bus ;;
    streams) needs=streams ;;
    warehouse | examples.pipeline) needs=warehouse ;;
    *) needs=broker ;;
esac
case " $* " in
    " zookeeper_server_start "*" --apache "* | " cluster_local "*" --apache "* | " cluster_local "*" --zookeepers"[\ =]"3 "*)
        needs=zookeeper ;;
esac
if [ ! -x "$python" ] || ! grep -qs "^extras=\(.* \)\{0,1\}$needs\( \|$\)" "$base/.venv/.kafkapy-setup"; then
    echo "kafkapy: what this needs is not there yet; bin/setup.sh $needs puts it into $base/.venv first" >&2
    "$base/bin/setup.sh" "$needs" >&2 || exit 1
fi
case $1 in examples.*) module=$1 ;; *) module=kafkapy.tools.$1 ;; esac
shift
PYTHONPATH="$base${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONPATH
exec "$python" -m "$module" "$@"
