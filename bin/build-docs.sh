#!/bin/sh
# Makes the site of the documentation in site/: pages of docs/, and the Python API from docstrings. Warnings are errors.
#   bin/build-docs.sh            builds it; open site/index.html
#   bin/build-docs.sh --serve    shows it at http://localhost:8000, and builds again after each edit
set -e
case "${1:-}" in -h|--help) sed -n '2,4s/^# \{0,1\}//p' "$0"; exit;; esac
cd "$(dirname "$(readlink -f "$0")")/.."
bin/setup.sh docs >&2
export NO_MKDOCS_2_WARNING=1
if [ "${1:-}" = --serve ]; then exec .venv/bin/python -m mkdocs serve; fi
.venv/bin/python -m mkdocs build --quiet
.venv/bin/python -m tests.pages.site
echo "site/index.html"
