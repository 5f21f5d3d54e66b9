#!/bin/sh
# What a front or a worker needs besides Node on Debian and Ubuntu, and the user that it runs as.
# As root: install-runtime.sh front|worker
set -eu
export DEBIAN_FRONTEND=noninteractive
case "${1:-}" in
  front) programs= ;;
  worker) programs="espeak-ng ffmpeg libvulkan1" ;;
  *)
    echo "install-runtime.sh front|worker, not \"${1:-}\"" >&2
    exit 2
    ;;
esac
apt-get update --quiet
# $programs is a list of words.
# shellcheck disable=SC2086
apt-get install --yes --quiet --no-install-recommends ca-certificates tini $programs
rm -rf /var/lib/apt/lists/*
useradd --uid 10001 --create-home --home-dir /var/lib/framemill --shell /usr/sbin/nologin framemill
