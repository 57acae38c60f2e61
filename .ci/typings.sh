#!/bin/sh
# Puts what knows a board's firmware into .tools/: pyright, and the stubs of two ports, for the
# test that checks what edge/board calls. Part of `make tools`; .venv must be there.
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "tools: $*"; }

fetched() {
    if command -v uv >/dev/null; then
        uv pip install --quiet --python .venv/bin/python --target "$1" "$2"
    else
        .venv/bin/python -m pip --disable-pip-version-check install -qq --target "$1" "$2"
    fi
}

for port in rp2 esp32; do
    stubs=.tools/typings/$port
    if [ -d "$stubs" ]; then
        say "the stubs of $port are there already"
        continue
    fi
    say "fetching the stubs of $port"
    rm -rf "$stubs.part"
    if fetched "$stubs.part" "micropython-$port-stubs==1.29.0.*"; then
        mv "$stubs.part" "$stubs"
    else
        say "they could not be fetched; going on without"
    fi
done

if [ -e .tools/pyright/node_modules/.bin/pyright ]; then
    say "pyright is there already"
elif command -v npm >/dev/null; then
    say "fetching pyright"
    npm install --no-save --no-audit --no-fund --silent --prefix .tools/pyright pyright@1.1.414 ||
        say "npm could not fetch it; going on without"
else
    say "no npm here for pyright; going on without"
fi
