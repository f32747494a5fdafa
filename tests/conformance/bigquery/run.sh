#!/usr/bin/env bash
# usage: run.sh BIGQUERY_SERVER VENV_DIR [unittest arguments...]
# Runs the tests below with Google's clients from a virtual environment that is made when it is missing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
server=$1 venv=$2
shift 2
packages=(google-cloud-bigquery==3.47.0 google-cloud-bigquery-storage==2.43.0)
stamp="$venv/.made-of"
if [ "$(cat "$stamp" 2>/dev/null)" != "${packages[*]}" ]; then
  rm -rf "$venv"
  if ! { /usr/bin/python3 -m venv "$venv" && "$venv/bin/pip" install -q "${packages[@]}"; }; then
    rm -rf "$venv"
    echo "skipped: Google's Python clients could not be installed; check the network or the proxy in pip.conf" >&2
    exit 77
  fi
  echo "${packages[*]}" >"$stamp"
fi
BIGQUERY_SERVER="$server" exec "$venv/bin/python" "$here/bigquery_clients_test.py" "${@:--v}"
