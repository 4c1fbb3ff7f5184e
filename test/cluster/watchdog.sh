#!/bin/sh
# Ends the processes noted in <state folder>/pids when the process that started this script is gone.
# Usage: watchdog.sh <state folder> remove|keep   (standard input: a pipe from the parent)
trap '' INT TERM HUP
dir=$1

# The parent says "released" when there is nothing left to do; the end of the pipe means it is gone.
if read -r word && [ "$word" = released ]; then exit 0; fi

# A pid counts as ours only if its command line names the state folder: numbers are reused.
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
# Cgroups of containers are named after the folder. Only an empty one can be removed, and its processes may just be ending.
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
