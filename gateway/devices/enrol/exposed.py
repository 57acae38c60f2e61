"""Which files of secrets others on this machine may read."""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from ...deployment import Deployment

# Where a service manager or a container puts secrets, and sees itself to who may read them.
KEPT_BY_OTHERS = ("/run/secrets",)


def exposed(deployment: Deployment, environment: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Yield a sentence for each file of secrets that its group or everybody may read."""
    kept = [
        Path(place)
        for place in (*KEPT_BY_OTHERS, environment.get("CREDENTIALS_DIRECTORY", ""))
        if place
    ]
    for path, holds in (
        (deployment.site.devices, "forge what devices say"),
        (deployment.mqtt.password_file, "come to the broker as the gateway"),
        (deployment.page.token_file, "read the page and its API"),
        (deployment.store.password_file, "change what was spent"),
    ):
        if path is None or any(place in path.resolve().parents for place in kept):
            continue
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
        except OSError:
            continue  # that it is missing is said where it is needed
        if mode & 0o077:
            yield (
                f"{path} may be read by others on this machine (mode {mode:04o}), and whoever "
                f"does can {holds}; it is a secret of the gateway's alone. Run: chmod 600 {path}"
            )
