"""What the page of a gateway on stage answers."""

import json
import urllib.error
import urllib.request
from typing import Any

from .stage import Stage


def get(site: Stage, path: str) -> int | None:
    """Return the status of an address; None when nobody answers."""
    return _asked(site, path)[0]


def told(site: Stage, path: str) -> Any:
    """Return what an address says, as JSON or as text; None when nobody answers."""
    said = _asked(site, path)[1]
    try:
        return json.loads(said)
    except ValueError:
        return said.decode()


def _asked(site: Stage, path: str) -> tuple[int | None, bytes]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{site.page}{path}", timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as fault:
        with fault:
            return fault.code, fault.read()
    except OSError:
        return None, b"null"
