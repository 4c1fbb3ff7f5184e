#!/bin/sh
# The properties of the entry points of Valkey's and Redis's official images on which Berth depends: options without a
# command belong to the server. Their servers have no protected mode, which rejects connections from other hosts.
set -eu
case "${1:-}" in -*) set -- redis-server --protected-mode no "$@" ;; esac
exec "$@"
