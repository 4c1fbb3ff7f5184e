#!/bin/sh
# Ends the processes that are recorded in <state folder>/pids when the process that started this script has ended.
# Usage: watchdog.sh <state folder> remove|keep   (standard input: a pipe from the parent)
trap '' INT TERM HUP
dir=$1

# The parent writes "released" if there is nothing to do. The end of the pipe means that the parent has ended.
if read -r word && [ "$word" = released ]; then exit 0; fi

# A pid belongs to the state folder only if its command line contains this folder, because pids are reused.
ours() {
  if [ -r "/proc/$1/cmdline" ]; then
    tr '\0' ' ' <"/proc/$1/cmdline" | grep -qF -- "$dir/"
  else
    ps -o args= -p "$1" 2>/dev/null | grep -qF -- "$dir/"
  fi
}

each_pid() {
  for file in "$dir"/pids/*.pid; do
    [ -f "$file" ] || continue
    read -r pid signal <"$file"
    ours "$pid" && echo "$pid ${signal#SIG}"
  done
}

each_pid | while read -r pid signal; do kill -"$signal" "$pid" 2>/dev/null; done
tries=0
while [ -n "$(each_pid)" ] && [ $tries -lt 50 ]; do
  sleep 0.1
  tries=$((tries + 1))
done
each_pid | while read -r pid signal; do kill -KILL "$pid" 2>/dev/null; done
# Cgroups of containers have the name of the folder. Only an empty cgroup can be removed, and its processes may still be ending.
cgroups() {
  for path in /sys/fs/cgroup/"${dir##*/}" /sys/fs/cgroup/*/"${dir##*/}"; do [ -d "$path" ] && echo "$path"; done
}
tries=0
while [ -n "$(cgroups)" ] && [ $tries -lt 50 ]; do
  cgroups | while read -r path; do find "$path" -depth -type d -exec rmdir {} \; 2>/dev/null; done
  sleep 0.1
  tries=$((tries + 1))
done
[ "$2" = remove ] && rm -rf -- "$dir"
exit 0
