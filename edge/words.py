"""Sentences that a release keeps on the medium, and out of memory till somebody asks.

Where `make edge` presses the modules, a sentence of theirs becomes `said(place)`, its place being
where its line begins in words.txt beside this file. From source nothing calls this.
"""

LONGEST = 600  # bytes of a sentence


def said(place, values=None):
    """Return the sentence that begins there, with its values in it.

    Whatever goes wrong, a text comes back: the fault that was to be told must not become another.
    """
    try:
        with open(__file__[: __file__.rfind("/") + 1] + "words.txt") as file:
            file.seek(place)
            line = file.read(LONGEST).split("\n")[0]
        return line if values is None else line % values
    except Exception:
        return "fault %d" % place
