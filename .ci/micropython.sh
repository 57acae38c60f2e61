#!/usr/bin/env bash
# Puts real MicroPythons into .tools/: what `make tools` and CI run before the tests.
#
#   .tools/micropython         the unix port
#   .tools/micropython-i386    the same with 32-bit words, the object model of small boards
#   .tools/wasm/               the WebAssembly port, which node runs
#
# Nothing here is installed into the system. A Debian without the package (before 13) unpacks
# it from a newer suite of its own mirror, with the libraries it wants, and runs it through
# their loader. What is there already is left alone. Only the unix port is a must: where it
# cannot be had, this exits 1 and says what to do.
set -eu
cd "$(dirname "$0")/.."
tools=$PWD/.tools
mkdir -p "$tools"

say() { printf '%s\n' "tools: $*"; }

# Is there a MicroPython at this path that can do what the tests ask of it, 1.22 or later?
works() {
    [ -x "$1" ] && "$1" -c 'import hashlib, json, sys; hashlib.sha256(b"")
assert sys.implementation.version >= (1, 22)' >/dev/null 2>&1
}

# unpack ARCHITECTURE PROGRAM: Debian's package and all it depends on, beside the system.
unpack() {
    local architecture=$1 program=$2 room=$tools/unpacked-$1 mirror
    mirror=$(apt-get indextargets --format '$(REPO_URI)' \
        'Created-By: Packages' 'Component: main' 'Origin: Debian' 'Label: Debian' | head -n 1)
    [ -n "$mirror" ] || { say "apt names no Debian mirror; run apt-get update first"; return 1; }
    rm -rf "$room" "$program"
    mkdir -p "$room/lists/partial" "$room/cache/archives/partial"
    printf 'deb [signed-by=%s] %s trixie main\n' \
        /usr/share/keyrings/debian-archive-keyring.gpg "$mirror" >"$room/sources.list"
    local apt=(apt-get -qq -o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture"
        -o "Dir::Etc::SourceList=$room/sources.list" -o Dir::Etc::SourceParts=-
        -o "Dir::State::Lists=$room/lists" -o Dir::State::Status=/dev/null
        -o "Dir::Cache=$room/cache" -o "APT::Sandbox::User=$(id -un)"
        -o Debug::NoLocking=1 -o APT::Get::List-Cleanup=0)
    "${apt[@]}" update
    "${apt[@]}" install --yes --download-only --no-install-recommends micropython >/dev/null
    local package
    for package in "$room"/cache/archives/*.deb; do dpkg -x "$package" "$room/root"; done
    rm -rf "$room/lists" "$room/cache"
    local loader libraries
    loader=$(find "$room/root" -name 'ld-linux*' | head -n 1)
    libraries=$(dirname "$(find "$room/root" -name libc.so.6 | head -n 1)")
    printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' \
        "$loader" "$libraries" "$room/root/usr/bin/micropython" >"$program"
    chmod +x "$program"
}

# The unix port: the one on PATH, the one made before, the suite's own, a newer suite's.
if works "$(command -v micropython || true)"; then
    say "micropython is on PATH"
elif works "$tools/micropython"; then
    say "micropython is there already"
elif ! command -v apt-get >/dev/null; then
    say "no apt here to take MicroPython from; install it (brew install micropython) or put"
    say "a unix build of 1.22 or later at .tools/micropython"
    exit 1
else
    say "unpacking micropython"
    unpack "$(dpkg --print-architecture)" "$tools/micropython"
    works "$tools/micropython" || { say "the unpacked micropython does not run here"; exit 1; }
fi

if works "$tools/micropython-i386"; then
    say "micropython-i386 is there already"
elif [ "$(uname -m)" = x86_64 ] && command -v apt-get >/dev/null; then
    say "unpacking micropython-i386"
    if ! unpack i386 "$tools/micropython-i386" || ! works "$tools/micropython-i386"; then
        rm -f "$tools/micropython-i386"
        say "this machine runs no 32-bit programs; going on without"
    fi
fi

wasm=@micropython/micropython-webassembly-pyscript@1.27.0
if [ -e "$tools/wasm/node_modules/${wasm%@*}/micropython.mjs" ]; then
    say "the WebAssembly port is there already"
elif command -v npm >/dev/null; then
    say "fetching the WebAssembly port"
    npm install --no-save --no-audit --no-fund --silent --prefix "$tools/wasm" "$wasm" ||
        say "npm could not fetch it; going on without"
else
    say "no npm here for the WebAssembly port; going on without"
fi
