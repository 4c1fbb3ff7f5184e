#!/bin/sh
# The properties of the entry point of PostgreSQL's official image on which Berth depends, for a container that does not run
# as root: a new data folder is created with POSTGRES_USER, its password and POSTGRES_DB. The local socket needs no password.
# During the initialization, the server listens only on the socket, and afterwards on every address.
set -eu

case "${1:-}" in -*) set -- postgres "$@" ;; esac

if [ "${1:-}" = postgres ] && [ ! -s "$PGDATA/PG_VERSION" ]; then
  user=${POSTGRES_USER:-postgres}
  database=${POSTGRES_DB:-$user}
  if [ -n "${POSTGRES_PASSWORD_FILE:-}" ]; then password=$(cat "$POSTGRES_PASSWORD_FILE"); else password=${POSTGRES_PASSWORD:-}; fi
  if [ -z "$password" ]; then
    echo 'POSTGRES_PASSWORD or POSTGRES_PASSWORD_FILE must be set for a new data folder' >&2
    exit 1
  fi
  mkdir -p "$PGDATA"
  chmod 0700 "$PGDATA"
  file=$(mktemp)
  printf '%s\n' "$password" >"$file"
  initdb --pgdata="$PGDATA" --username="$user" --pwfile="$file"
  rm "$file"
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  echo "listen_addresses = '*'" >>"$PGDATA/postgresql.conf"
  pg_ctl --pgdata="$PGDATA" --options="-c listen_addresses=''" --wait start
  if [ "$database" != postgres ]; then createdb --username="$user" --maintenance-db=postgres "$database"; fi
  pg_ctl --pgdata="$PGDATA" --mode=fast --wait stop
  echo 'PostgreSQL init process complete; ready for start up.'
fi

unset POSTGRES_PASSWORD
exec "$@"
