#!/bin/sh
# The first process in the namespaces of a node. It creates mounts and network, and then reaps processes. When it ends, all end.
# Usage: init.sh <state folder>/ <address of the node>
set -eu
state=${1%/}
address=$2

# The kubelet needs shared propagation, which stays within this mount namespace.
mount --make-rshared /
# Holds sockets of shims, the state of runc, and /run/netns.
mount -t tmpfs tmpfs /run
mkdir -p /run/lock "$state/var-log" "$state/var-lib/upper" "$state/var-lib/work" "$state/sysctl"
# Logs of pods.
mount --bind "$state/var-log" /var/log
# Kubelet and network plugins write to fixed paths in /var/lib, regardless of their settings.
mount -t overlay overlay -o "lowerdir=/var/lib,upperdir=$state/var-lib/upper,workdir=$state/var-lib/work" /var/lib

# The kubelet requires these kernel settings. A file with the required value is mounted over each of them.
for setting in vm/overcommit_memory=1 kernel/panic=10 kernel/panic_on_oops=1; do
  file="$state/sysctl/$(echo "${setting%%=*}" | tr / .)"
  echo "${setting##*=}" >"$file"
  mount --bind "$file" "/proc/sys/${setting%%=*}"
done

ip link set lo up
ip link add node0 type bridge
ip addr add "$address/24" dev node0
ip link set node0 up
# Leads nowhere, but without a default route programs cannot determine their own address.
ip route add default via "${address%.*}.254" dev node0
echo 1 >/proc/sys/net/ipv4/ip_forward

touch "$state/inside.ready"
# A shell that waits for a child also reaps all others.
while :; do sleep 3600; done
