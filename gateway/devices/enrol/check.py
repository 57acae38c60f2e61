"""Whether a deployment and its devices belong together, and whether its secrets lie open."""

import os
import stat
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path

from edge.core.budget import price
from edge.host import post

from ...faults import VARIABLES, OperatorFault
from ...logs import log
from ...mechanisms import find_for_deployment, find_serving, make_first_limits
from ...settings import config
from ...settings.deployment import Deployment
from . import limitsfile, roster
from .capped import check_pace
from .enrol import Devices, check_fleet

# Where a service manager or a container puts secrets, and sees itself to who may read them.
KEPT_BY_OTHERS = ("/run/secrets",)


def find_exposed_secrets(
    deployment: Deployment, environment: Mapping[str, str] = os.environ
) -> Iterator[str]:
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
        (deployment.page.viewer_token_file, "read the page as a viewer"),
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


WIDEST = (post.REPORT_BYTES - 64) // 4  # sensors of one device: 32 bits each, and all the rest


def check_devices_fit(deployment: Deployment, devices: Devices) -> None:
    """Check that these devices will answer this deployment, and warn of secrets that lie open.

    Raises:
        OperatorFault: they will not.
    """
    mechanism = find_for_deployment(deployment)
    sensors = prod(mechanism.sensors(deployment))
    check_fleet(devices, sensors, keyholder=deployment.privacy.keyholder)
    check_frame_lengths(devices)
    check_limits(deployment, devices, limitsfile.load_limits(deployment.site.devices, devices))
    if mechanism.trust == "distributed":
        shards = roster.load_shards(deployment.site.devices, devices.site)
        roster.check_shards(shards, config.make_query(deployment), devices.by_name)
    for sentence in find_exposed_secrets(deployment):
        log.warning("other users of this machine may read a secret", why=sentence)


def check_limits(
    deployment: Deployment, devices: Devices, known: Mapping[str, limitsfile.GivenLimits]
) -> None:
    """Check that these devices answer the rounds of this deployment, and count for its window.

    Raises:
        OperatorFault: one does not.
    """
    held = {who: one.limits for who, one in known.items()}
    counts = {name: one.place.sensors for name, one in devices.by_name.items()}
    mechanism = find_for_deployment(deployment)
    sensors, enrolled = prod(mechanism.sensors(deployment)), sum(counts.values())
    try:
        find_serving(mechanism.name).check_held(config.make_query(deployment), counts, held)
    except OperatorFault as wrong:
        if enrolled == sensors:
            raise
        raise OperatorFault(
            f"the file has {sensors} sensors, and {enrolled} are enrolled; {wrong}"
        ) from wrong
    check_pace(deployment.rounds.every_s, held)
    check_windows(deployment, devices, known)
    check_readings(deployment, known)


def describe_untold(deployment: Deployment, devices: Devices) -> str:
    """Return that devices allow more than the deployment asks for, or nothing."""
    try:
        wished = make_first_limits(deployment, config.make_query(deployment))
    except OperatorFault:
        return ""  # no device could be given these
    known = limitsfile.load_limits(deployment.site.devices, devices)
    tighter = find_serving(deployment.rounds.mechanism).tighter
    untold = []
    for name, given in known.items():
        planned, why = limitsfile.plan_next(given, wished, tighter)
        if planned != given.limits and not why:
            untold.append(name)
    if not untold:
        return ""
    return (
        f"{len(untold)} devices, such as {untold[0]}, still take rounds with less noise, or more "
        "often, than this file asks for, from whoever has the site's key. heatveil tighten tells "
        "them, for good"
    )


def check_windows(
    deployment: Deployment, devices: Devices, known: Mapping[str, limitsfile.GivenLimits]
) -> None:
    """Check that all devices count for the window that the deployment promises.

    Raises:
        OperatorFault: one does not, or may not.
    """
    hours = {name: known[name].window_h if name in known else None for name in devices.by_name}
    check_budget_window(deployment.privacy.window_h, hours)


def check_budget_window(window_h: int, counted: Mapping[str, float | None]) -> None:
    """Check that devices count for the window that the deployment promises.

    Args:
        counted: for how many hours each device counts, 0 for its life; None where nobody knows,
            which only a promise for life bears: so were all before there were windows.

    Raises:
        OperatorFault: one does not, or may not.
    """
    for name, held in counted.items():
        if held is None and window_h:
            raise OperatorFault(
                f"the window of {name}'s budget is not known, because limits.json beside the "
                f"devices file does not list it; window_h = {window_h} is promised, and it may "
                "give away more. Restore limits.json as it was when the device was enrolled"
            )
        if held is not None and held != window_h:
            was, now = (f"any {hours:g} h" if hours else "its life" for hours in (held, window_h))
            raise OperatorFault(
                f"{name} was enrolled with a budget for {was} and the deployment promises one for "
                f"{now}: it would stop answering too early, or give away more than is promised. "
                f"Go back to the window_h it was enrolled with{VARIABLES}, or enrol again in a "
                "new folder, which is a new promise"
            )


def check_readings(deployment: Deployment, known: Mapping[str, limitsfile.GivenLimits]) -> None:
    """Check that no device is asked more often than its budget was made for.

    Noise is rounded, so the budget of a few more readings at the same epsilon can come out no
    larger; it is another promise all the same. What is epsilon alone has another price then.

    Raises:
        OperatorFault: one is.
    """
    if find_for_deployment(deployment).reads == "place":
        return
    readings = deployment.privacy.readings
    for name, one in known.items():
        own = one.limits
        most = (own.budget + one.before) // price(own, own.exponent, own.variance)
        if readings > most:
            raise OperatorFault(
                f"readings went from {most} to {readings}, and {name} has a budget for {most}: "
                f"more readings are another promise, at any epsilon. Go back to {most}"
                f"{VARIABLES}, or enrol again in a new folder"
            )


def check_levels(deployment: Deployment, known: Mapping[str, limitsfile.GivenLimits]) -> None:
    """Check that limits made for the deployment are made for the level that devices have.

    A device keeps the level of its enrolment and counts by its limits, which say of a level only
    what it makes readings change by. Tightened to a warmer source and a slower level, it would
    count, and the ledger charge, less than it gives away. With the limits that it has it counts
    what it gives away, and `check_held` holds rounds against that. One whose level is recorded
    shows less than one that follows.

    Raises:
        OperatorFault: the level of one follows in another way.
    """
    for name, one in known.items():
        if one.following not in ((), deployment.following):
            held, asked = (
                "{}/{} K at each of {} answers".format(*level) if level else "none"
                for level in (one.following, deployment.following)
            )
            num, den, answers = one.following
            raise OperatorFault(
                f"{name} was enrolled with a level that follows by {held}, which it keeps; with "
                f"limits made for {asked} it would count less for an answer than that gives "
                'away. Go back to background = "following", '
                f'slew = "{num}/{den}" and readings = {answers}{VARIABLES}, or enrol again in a '
                "new folder, which is a new promise"
            )


def check_frame_lengths(devices: Devices) -> None:
    """Check that every device's frames are short enough to be read.

    Raises:
        OperatorFault: one has more sensors than a frame holds.
    """
    for name, device in devices.by_name.items():
        if device.place.sensors > WIDEST:
            raise OperatorFault(
                f"device {name} is enrolled for {device.place.sensors} sensors, but a frame holds "
                f"at most {WIDEST}; the gateway would refuse every frame, and the device send it "
                "again for ever. Divide the sensors among several devices"
            )
