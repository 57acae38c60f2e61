"""Sentences that compiled modules keep on the medium, and out of memory until one is said.

Where modules are compiled for a board, a sentence of theirs becomes `say(place)`: it begins there
in words.txt beside this file. From source nothing calls this.
"""

LONGEST = 600  # bytes of a sentence


def read_sentence(place, values=None):
    """Return the sentence that begins there, with its values in it.

    Whatever goes wrong, a text comes back: the fault that was to be told must not become another.
    """
    try:
        with open(__file__[: __file__.rfind("/") + 1] + "words.txt") as file:
            file.seek(place)
            line = file.read(LONGEST).split("\n")[0]
        said = line if values is None else line % values
        return said or "fault %d" % place  # a refusal that says nothing would be none
    except Exception:
        return "fault %d" % place
