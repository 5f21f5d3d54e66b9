#!/bin/sh
# Outlives the process that started it by a moment: when its stdin closes, however that came about,
# it ends the process groups and removes the folder it was told about, and nothing else.
#   group ID SIGNAL   a process group, and the signal that ends it at once but in order
#   compose NAME      a docker compose project to take down
# Usage: reaper.sh FOLDER COMPOSE_FILE
folder=$1
compose_file=$2
groups=
projects=

while read -r kind name signal; do
  case $kind in
    group) groups="$groups $name:$signal" ;;
    compose) projects="$projects $name" ;;
  esac
done

alive() {
  for group in $groups; do
    kill -0 "-${group%:*}" 2>/dev/null && return 0
  done
  return 1
}

for group in $groups; do kill "-${group#*:}" "-${group%:*}" 2>/dev/null; done
tries=0
while alive && [ "$tries" -lt 30 ]; do
  tries=$((tries + 1))
  sleep 0.1
done
for group in $groups; do kill -KILL "-${group%:*}" 2>/dev/null; done
for project in $projects; do docker compose -p "$project" -f "$compose_file" down -v >/dev/null 2>&1; done
rm -rf "$folder"
