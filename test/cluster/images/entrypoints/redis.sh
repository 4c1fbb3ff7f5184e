#!/bin/sh
# What Berth relies on of the entry points of Valkey's and Redis's official images: options alone are those of the
# server. Their servers are built without the protected mode, which refuses whoever is not on loopback.
set -eu
case "${1:-}" in -*) set -- redis-server --protected-mode no "$@" ;; esac
exec "$@"
