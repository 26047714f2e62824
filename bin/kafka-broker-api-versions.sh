#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/_run.sh" broker_api_versions "$@"
