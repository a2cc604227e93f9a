#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: packages.sh ROOT - install the packages of build/deb in a fresh root, use them there, and remove them.
#
# ROOT: as `tools/fresh-root ROOT true` makes it.  Needs root.
set -euo pipefail
root=${1:?a root directory follows, as tools/fresh-root makes it}
cd "$(dirname "$0")/../.."
rm -rf "$root/packages"
mkdir "$root/packages"
cp build/deb/*.deb test/install/consumer/program.c examples/event_loop.c "$root/packages"
inside() {
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        sh -euc "cd /packages; $1"
}
inside 'apt-get -qq update; apt-get -qq -y install --no-install-recommends gcc libc6-dev pkg-config ./*.deb >log 2>&1 ||
    { cat log; exit 1; }'
inside 'cc -o program program.c $(pkg-config --cflags --libs rtrcu); test "$(./program)" = "freed 1"'
inside 'cc -D_GNU_SOURCE -o event_loop event_loop.c $(pkg-config --cflags --libs rtrcu); ./event_loop'
inside 'rtrcu --version; rtrcu torture --seconds 1 --scenario TREE01'
inside 'dpkg -L librtrcu-dev rtrcu | grep -c /man/man'
inside 'apt-get -qq -y remove "librtrcu0.*" librtrcu-dev rtrcu >log 2>&1; ! ls /usr/lib/*/librtrcu* 2>/dev/null'
echo "packages: ok"
