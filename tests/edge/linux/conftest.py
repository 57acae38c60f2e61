"""A device's file as its host wrote it, for the computer that is to be the device."""

import json
from pathlib import Path
from typing import Any

import pytest

from edge.core.budget import Limits
from edge.host import rootkeys

ROOT, SITE_KEY = bytes(range(32)), bytes(range(32, 64))
LIMITS = Limits(1, 8, 4000, 16000, 10_000_000_000, 0)


@pytest.fixture
def device_file(tmp_path: Path) -> Path:
    """Return what `heatveil device add` writes for one device."""
    who = rootkeys.identity("lab", "attic-3", ROOT, SITE_KEY, 3)._asdict()
    row: dict[str, Any] = {
        word: item.hex() if isinstance(item, bytes) else item for word, item in who.items()
    }
    body = {"holds": "everything of one device", "format": 2, "site": row.pop("site")}
    body["site_key"] = row.pop("site_key")
    row |= {"chain": rootkeys.first_chain(ROOT).hex(), "limits": list(LIMITS)}
    row["link"] = {
        "host": "127.0.0.1",
        "port": 1883,
        "tls": False,
        "client_id": "attic-3-x",
        "username": "attic-3",
        "password": "pw",
    }
    body["devices"] = [row]
    path = tmp_path / "attic-3.device.json"
    path.write_text(json.dumps(body))
    path.chmod(0o600)
    return path
