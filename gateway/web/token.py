"""The secret that whoever reads the page must show, from its file."""

import re
from pathlib import Path

from ..faults import OperatorFault, text_of

LEAST = 16
_PRINTED = re.compile(r"[\x21-\x7e]+")


def read(path: Path | None) -> str | None:
    """Return the token in a file, or None where there is no file.

    Raises:
        OperatorFault: it cannot be read, is too short to be a secret, or no header can carry it.
    """
    if path is None:
        return None
    needed = (
        "whoever looks at the page has to show what is in it. Mend token_file under [page], or"
    )
    token = text_of(path, "the token file", f"{needed} who may read the file").strip()
    if len(token) < LEAST or not _PRINTED.fullmatch(token):
        raise OperatorFault(
            f"the token in {path} is {len(token)} characters, and needs to be {LEAST} or more of "
            "letters, digits and signs, without blanks: it is all that keeps the network from "
            "reading the page. Make one, such as with: openssl rand -hex 24"
        )
    return token
