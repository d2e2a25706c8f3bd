#!/bin/sh
# The browser of `make e2e`: the system's Chromium, installed from the distribution when that is allowed.
set -eu
command -v chromium >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing chromium …"
    if apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; then
        exit 0
    fi
    echo "Offpeak: chromium could not be installed; the browser tests need it in the PATH." >&2
    exit 1
fi
echo "Offpeak: the browser tests need chromium in the PATH: install it with your system's package manager." >&2
exit 1
