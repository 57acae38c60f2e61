"""What a firmware of one's own has frozen in: the files of package.json, and their digest.

    make firmware BOARD=RPI_PICO_W MICROPY=/path/to/micropython

MicroPython's build runs this file in its folder, with `package` and `module` at hand; imported it
does nothing. `heatveil_frozen` in the firmware names the digest, by which `heatveil provision`
knows that the modules are those of its own release. boot.py and main.py stay on the flash, where
provisioning puts them aside.
"""

if "package" in globals():
    import atexit
    import hashlib
    import json
    import shutil
    import tempfile

    with open("package.json") as listed:
        places = sorted(place for place, _ in json.load(listed)["urls"])
    digest = hashlib.sha256()
    for place in places:
        with open("../" + place, "rb") as file:
            digest.update(place.encode() + hashlib.sha256(file.read()).digest())
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)  # once all is compiled
    with open(folder + "/heatveil_frozen.py", "w") as file:
        file.write("DIGEST = %r\n" % digest.hexdigest())
    files = [place.partition("/")[2] for place in places]
    package("edge", files=files, base_path="..", opt=3)  # noqa: F821
    module("heatveil_frozen.py", base_path=folder)  # noqa: F821
