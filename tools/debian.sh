# shellcheck shell=bash
# Sourced by the set-up scripts: installs Debian packages, and asks nothing of apt when none is missing.

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

install_debian() {
  local package missing=()
  for package in "$@"; do
    installed "$package" || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  if ! command -v apt-get >/dev/null; then
    echo "This is not a Debian system; please install: ${missing[*]}" >&2
    return 1
  fi
  local root=()
  [ "$(id -u)" -eq 0 ] || root=(sudo)
  echo "==> installing Debian packages: ${missing[*]}" >&2
  "${root[@]}" apt-get update -qq
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
