#!/usr/bin/env bash
# Builds a board's MicroPython with the modules of edge frozen in, into dist/firmware: `make firmware`.
#
#   make firmware                                        a Pico, from Debian's sources alone
#   make firmware BOARD=RPI_PICO_W MICROPY=~/micropython from a checkout with its submodules
#   make firmware BOARD=unix32                           for this PC, with 32-bit words (or unix)
#
# BOARD is one of ports/rp2/boards (RPI_PICO, RPI_PICO_W, RPI_PICO2, RPI_PICO2_W) or of
# ports/esp32/boards (ESP32_GENERIC, ESP32_GENERIC_S3, ESP32_GENERIC_C3). Debian's sources are
# those of MicroPython 1.25 without radios, and without micropython-lib's drivers (ds18x20,
# ntptime): for whatever has a radio a checkout is named. The first one takes five minutes.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
room=$PWD/.tools/firmware
board=${BOARD:-RPI_PICO}
source=${MICROPY:-}
suite=trixie # MicroPython 1.25, and a pico-sdk and tinyusb that go with it

say() { printf '%s\n' "firmware: $*"; }
refuse() { say "$*" >&2; exit 1; }

case $board in
    unix | unix32) port=unix needed=(gcc:gcc) ;;
    RPI_*) port=rp2 needed=(arm-none-eabi-gcc:gcc-arm-none-eabi cmake:cmake gcc:gcc) ;;
    ESP32_*) port=esp32 needed=(gcc:gcc) ;;
    *) refuse "$board is no board that is built here; name one as MicroPython calls it, RPI_PICO_W" ;;
esac
if [ -n "$source" ]; then
    [ -d "$source" ] || refuse "MICROPY=$source is no folder; name a checkout of MicroPython, with its submodules"
    source=$(cd "$source" && pwd)
    [ -d "$source/ports/$port" ] || refuse "$source is no MicroPython: it has no ports/$port"
elif [[ $board == *_W || $port == esp32 ]]; then
    say "$board has a radio, and its driver is in no Debian; name a checkout that has it:"
    say "git clone -b v1.25.0 https://github.com/micropython/micropython"
    refuse "make -C micropython/ports/$port BOARD=$board submodules; then MICROPY=micropython beside BOARD"
fi
[ "$port" != esp32 ] || command -v idf.py >/dev/null ||
    refuse "an ESP32 is built by ESP-IDF, whose idf.py is not on PATH: . esp-idf/export.sh"
lacking=()
for pair in "${needed[@]}" make:make python3:python3; do
    command -v "${pair%%:*}" >/dev/null || lacking+=("${pair##*:}")
done
if [ "$port" = rp2 ]; then
    for pair in libc.a:libnewlib-arm-none-eabi libstdc++.a:libstdc++-arm-none-eabi-newlib; do
        command -v arm-none-eabi-gcc >/dev/null &&
            [ -e "$(arm-none-eabi-gcc -print-file-name="${pair%%:*}")" ] || lacking+=("${pair##*:}")
    done
fi
[ "$board" != unix32 ] || echo 'int main(void){return 0;}' | gcc -m32 -x c -o /dev/null - 2>/dev/null ||
    lacking+=(gcc-multilib)
[ "${#lacking[@]}" = 0 ] ||
    refuse "a compiler is wanted: apt-get install --no-install-recommends ${lacking[*]}"

# fetch: MicroPython and what its port for a Pico needs, from Debian's own sources.
fetch() {
    local mirror key=/usr/share/keyrings/debian-archive-keyring.gpg kind
    mirror=$(apt-get indextargets --format '$(REPO_URI)' \
        'Created-By: Packages' 'Component: main' 'Origin: Debian' 'Label: Debian' | head -n 1)
    [ -n "$mirror" ] || refuse "apt names no Debian mirror; run apt-get update first"
    rm -rf "$room"
    mkdir -p "$room/lists/partial" "$room/cache/archives/partial"
    cd "$room"
    for kind in deb deb-src; do
        printf '%s [signed-by=%s] %s %s main\n' "$kind" "$key" "$mirror" "$suite"
    done >sources.list
    local apt=(apt-get -qq -o "Dir::Etc::SourceList=$room/sources.list" -o Dir::Etc::SourceParts=-
        -o "Dir::State::Lists=$room/lists" -o Dir::State::Status=/dev/null
        -o "Dir::Cache=$room/cache" -o "APT::Sandbox::User=$(id -un)" -o Debug::NoLocking=1)
    say "fetching the sources"
    "${apt[@]}" update
    "${apt[@]}" source --download-only micropython mbedtls
    "${apt[@]}" download pico-sdk-source tinyusb-source
    local package lib=$room/unpacked/lib
    for package in ./*.deb; do dpkg -x "$package" debian; done
    mkdir unpacked
    tar -xf micropython_*.orig.tar.* -C unpacked --strip-components=1
    rm -rf "$lib/pico-sdk" "$lib/tinyusb" "$lib/mbedtls" # empty: upstream has them elsewhere
    cp -r debian/usr/src/pico-sdk "$lib/pico-sdk"
    cp -r debian/usr/src/tinyusb "$lib/tinyusb"
    mkdir "$lib/mbedtls" && tar -xf mbedtls_*.orig.tar.* -C "$lib/mbedtls" --strip-components=1
    mkdir -p "$lib/pico-sdk/lib" "$lib/micropython-lib"
    rm -rf "$lib/pico-sdk/lib/tinyusb" && ln -s "$lib/tinyusb" "$lib/pico-sdk/lib/tinyusb"
    touch "$lib/micropython-lib/README.md" # none of its drivers is there
    mv unpacked micropython
}

if [ -z "$source" ]; then
    source=$room/micropython
    [ -d "$source" ] || (fetch)
fi
mkdir -p "$room" "$root/dist/firmware"
manifest=$room/$board.manifest.py
own=$source/ports/$port/boards
# shellcheck disable=SC2016  # these are MicroPython's own words
if [ -n "${MICROPY:-}" ] && [ -e "$own/$board/manifest.py" ]; then
    echo "include(\"$own/$board/manifest.py\")"
elif [ -n "${MICROPY:-}" ] && [ -e "$own/manifest.py" ]; then
    echo "include(\"$own/manifest.py\")"
else
    [ "$port" = unix ] || echo 'freeze("$(PORT_DIR)/modules")'
    echo 'include("$(MPY_DIR)/extmod/asyncio")'
fi >"$manifest"
echo "include(\"$root/edge/manifest.py\")" >>"$manifest"

# build: into the file that is named here.
build() {
    local made processor=x64 wide=
    made=$room/$board-$(printf %s "$source" | cksum | cut -d ' ' -f 1) # one for each source tree
    rm -rf "$made/frozen_mpy" # what is there may be newer than the modules of another release
    make -C "$source/mpy-cross"
    case $port in
        unix)
            [ "$board" = unix ] || processor=x86 wide=MICROPY_FORCE_32BIT=1
            make -C "$source/ports/unix" BUILD="$made" FROZEN_MANIFEST="$manifest" $wide \
                MPY_CROSS_FLAGS=-march=$processor MICROPY_PY_BTREE=0 MICROPY_PY_FFI=0 \
                MICROPY_SSL_MBEDTLS=1 MICROPY_STANDALONE=1 CFLAGS_EXTRA=-Wno-error
            cp "$made/micropython" "$1"
            ;;
        rp2)
            local family=0xe48bff56
            [[ $board != RPI_PICO2* ]] || family=0xe48bff59
            cmake -S "$source/ports/rp2" -B "$made" -DMICROPY_BOARD="$board" \
                -DPICO_SDK_PATH="$source/lib/pico-sdk" -DPICO_BUILD_DOCS=0 -DPICO_NO_PICOTOOL=1 \
                -DMICROPY_FROZEN_MANIFEST="$manifest"
            make -C "$made"
            python3 "$source/tools/uf2conv.py" -f $family -b 0x10000000 -c -o "$1" \
                "$made/firmware.bin"
            ;;
        esp32)
            make -C "$source/ports/esp32" BOARD="$board" BUILD="$made" FROZEN_MANIFEST="$manifest"
            cp "$made/firmware.bin" "$1"
            ;;
    esac
}

case $port in rp2) end=.uf2 ;; esp32) end=.bin ;; *) end= ;; esac
say "building $board"
# No `build || ...`: within that, bash goes on after what fails.
trap '[ $? = 0 ] || tail -n 20 "$room/$board.log" >&2' EXIT
build "$root/dist/firmware/$board$end" >"$room/$board.log" 2>&1
say "built dist/firmware/$board$end"
