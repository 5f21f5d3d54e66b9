#!/bin/sh
# Installs Debian packages as root without questions and without starting their services.
set -eu
export DEBIAN_FRONTEND=noninteractive

# Debian asks this file before it starts a service; ours says no and is removed again.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' > "$policy"
  chmod +x "$policy"
  trap 'rm -f "$policy"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
fi

install() {
  apt-get install --yes --quiet --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"
}

# Package lists that are missing or too old to download from are fetched once.
if [ -z "$(find /var/lib/apt/lists -maxdepth 1 -name '*_Packages*' -print -quit 2>/dev/null)" ] || ! install "$@"; then
  apt-get update --quiet -o DPkg::Lock::Timeout=300
  install "$@"
fi
