"""What a firmware of one's own has frozen in: the files of package.json, and both templates.

    make -C ports/rp2 BOARD=RPI_PICO_W FROZEN_MANIFEST=/path/to/edge/manifest.py

A port that compiles for no processor (unix) needs MPY_CROSS_FLAGS=-march=x64 beside it, for
`viper`. Where the board has a manifest of its own, write one that includes both. MicroPython's
build runs this file in its folder, with `package` and `module` at hand; imported it does nothing.
"""

if "package" in globals():
    import json

    with open("package.json") as listed:
        places = [place for place, _ in json.load(listed)["urls"]]
    package(  # noqa: F821
        "edge", files=[place.partition("/")[2] for place in places], base_path=".."
    )
    module("boot.py", base_path="board")  # noqa: F821
    module("main.py", base_path="board")  # noqa: F821
