#!/bin/sh
# Makes .venv, or brings it up to date:   sh .ci/venv.sh demo|test
#
# Uses uv where it is on PATH, and python3 -m venv with pip where it is not. PYTHON chooses
# the Python. A stamp in .venv tells make that nothing has changed since.
set -eu
cd "$(dirname "$0")/.."
extra=$1

say() { printf '%s\n' "heatveil: $*"; }
recent() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

# A .venv whose Python has gone, or is too old, is made anew.
if ! recent .venv/bin/python; then
    python=
    for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if recent "$candidate"; then
            python=$candidate
            break
        fi
    done
    if [ -z "$python" ]; then
        has=$("${PYTHON:-python3}" --version 2>&1) || has="no ${PYTHON:-python3}"
        say "here is $has, and Python 3.11 or later is needed; install one and try again," \
            "or name it: make PYTHON=/path/to/python3.12" >&2
        exit 1
    fi
    say "making .venv with $("$python" --version)"
    rm -rf .venv
    if command -v uv >/dev/null; then
        uv venv --quiet --python "$("$python" -c 'import sys; print(sys.executable)')" .venv
    elif ! "$python" -m venv .venv; then
        rm -rf .venv
        say "$python cannot make a virtual environment; on Debian: apt-get install python3-venv" >&2
        exit 1
    fi
fi

case $extra in
demo) for_what="the demo needs" ;;
edge) for_what="a release for boards needs" ;;
*) for_what="the tests need" ;;
esac
say "installing what $for_what; the first time takes about a minute"
if command -v uv >/dev/null; then
    # With pip, or `pip install` in the activated .venv would go to another Python.
    uv pip install --quiet --compile-bytecode --python .venv/bin/python --editable ".[$extra]" pip
else
    # A .venv that uv once made has no pip of its own.
    .venv/bin/python -m pip --version >/dev/null 2>&1 || .venv/bin/python -m ensurepip >/dev/null
    .venv/bin/python -m pip --disable-pip-version-check install -qq --editable ".[$extra]"
fi
# What the tests need holds what the demo needs.
case $extra in demo | edge) ;; *) touch .venv/has-demo .venv/has-edge ;; esac
touch ".venv/has-$extra"
