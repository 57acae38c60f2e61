"""How a deployment is run: rounds, broker, store, guard, page, Home Assistant, workers.

The promise does not depend on any of it, but for `calibration` and `sampler`. The other tables of
the deployment file are in `deployment`.
"""

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, PrivateAttr, model_validator

from ..loopback import is_loopback
from ..mechanisms import USUAL
from .fields import Count, EstimatorName, Port, Positive, Section, Switch

_HOURS = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])")
_PREFIX = re.compile(r"[^/+#\x00-\x1f$][^+#\x00-\x1f]*")


def _hours(text: str) -> str:
    match = _HOURS.fullmatch(text)
    if match is None or match[1] + match[2] == match[3] + match[4]:
        raise ValueError("it should be two times of the day that differ, such as 08:00-18:00")
    return text


def _prefix(text: str) -> str:
    if not _PREFIX.fullmatch(text) or text.endswith("/"):
        raise ValueError("it should be the beginning of a topic, without + or # or a last /")
    return text


Hours = Annotated[str, AfterValidator(_hours)]
Time = Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]


class Rounds(Section):
    """How the rounds run; seconds."""

    mechanism: str = USUAL
    estimator: EstimatorName = "auto"
    calibration: Literal["exact", "paper"] = "exact"
    sampler: Literal["exact", "table"] = "exact"  # what devices draw noise from
    gather_s: Positive = 30.0
    every_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 3600.0
    solve_s: Positive = 10.0
    quorum: Count = 1  # devices that must have answered for a map to be drawn
    hours: Hours | None = None  # of this machine's clock


class Mqtt(Section):
    """The broker: TLS, with its certificate and name verified, unless insecure says otherwise."""

    host: str = "127.0.0.1"
    port: Port = 8883
    username: str | None = None
    password_file: Path | None = None
    ca_file: Path | None = None  # who signs its certificate; else the system's authorities may
    insecure: Switch = False
    version: Literal["auto", "5", "3.1.1"] = "auto"
    window: Annotated[int, Field(ge=1, le=65_535)] = 500  # messages that wait for our commit

    # A device's own, from its keys and not from the file: see `access.as_device`.
    _password: str | None = PrivateAttr(None)
    _context: Any = PrivateAttr(None)

    @model_validator(mode="after")
    def _one_way_or_the_other(self) -> Self:
        if self.insecure and self.ca_file is not None:
            raise ValueError(
                "insecure = true speaks in the clear and ca_file is for verifying TLS: only one "
                "of them can be meant, and the wrong one would give everything away; remove one"
            )
        return self


class Storage(Section):
    """Where what came is kept, and for how long; what was charged is kept for ever."""

    postgresql: str | None = None  # libpq words or address, instead of the file under [site]
    password_file: Path | None = None  # of the user at PostgreSQL
    keep_days: Positive | None = None  # blurred readings and maps; None for ever
    refused_days: Positive = 30.0  # dead letters
    round_keys: Path = Path("/run/heatveil")  # of central trust: where an open round's key lies
    reserve_mb: Annotated[int, Field(ge=0, le=1_000_000)] = 64  # less room stops the taking


class Guard(Section):
    """How much one device may say before it is taken for broken or hostile."""

    messages_per_s: Positive = 20.0  # over a while, of one device
    burst: Count = 500  # messages of one device at once: what a full spool sends when it is back
    forged: Count = 20  # messages in a minute that are no frames of the device
    quarantine: Switch = True  # let the broker shut such a device out, where it can
    minutes: Positive | None = None  # after which it may come back; None until it is let back


class Page(Section):
    """Where the page and its API listen, and who may read them."""

    host: str = "127.0.0.1"
    port: Port = 8080
    token_file: Path | None = None  # a secret that whoever reads must show
    hosts: tuple[str, ...] = ()  # names that it is asked for by besides, such as a proxy's
    # Where /livez, /readyz and /metrics are answered while the page's own port is full.
    health_host: str = "127.0.0.1"
    health_port: Annotated[int, Field(ge=0, le=65535)] = 8081  # 0 for nowhere

    @property
    def probed(self) -> tuple[str, int] | None:
        """Host and port where machines ask how the gateway is; None for the page's alone."""
        return (self.health_host, self.health_port) if self.health_port else None

    @model_validator(mode="after")
    def _closed_to_strangers(self) -> Self:
        for key in ("host", "health_host"):
            host = getattr(self, key)
            if self.token_file is None and not is_loopback(host):
                raise ValueError(
                    f"{key} {host} lets the network read the page and its API: it needs a "
                    "token_file with a secret of 16 characters or more, or a host of this "
                    "machine alone, such as 127.0.0.1"
                )
        return self


class HomeAssistant(Section):
    """Whether results and health of the gateway are announced to Home Assistant."""

    enabled: Switch = False
    prefix: Annotated[str, AfterValidator(_prefix)] = "homeassistant"
    expire_s: Positive | None = None  # after which a silent result is unavailable


class Workers(Section):
    """How many parts the devices are split into, each taken by one worker at a time."""

    partitions: Annotated[int, Field(ge=1, le=256)] = 1
    lease_s: Positive = 10.0  # how long a worker that died keeps its part
