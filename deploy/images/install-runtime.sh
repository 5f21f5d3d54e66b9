#!/bin/sh
# What a worker calls besides Node, on Debian and Ubuntu. As root.
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get update --quiet
apt-get install --yes --quiet --no-install-recommends ca-certificates espeak-ng ffmpeg libvulkan1 tini
rm -rf /var/lib/apt/lists/*
