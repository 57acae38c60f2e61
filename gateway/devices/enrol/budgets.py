"""Where the budgets of virtual devices are kept: a folder of slots, one keeper at a time.

A budget is written before it is used, so the folder is the only thing that knows what a device
has said. It is neither copied nor brought back: a device whose slots are lost, or were set back,
stays off until it is enrolled again, with a new key.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from edge.core.budget import Files
from edge.core.window import open_budget
from edge.host import enrol, rootkeys
from edge.host.enrol import Ram
from edge.linux.exact import Raw

from ...faults import OperatorFault
from ...logs import log
from ...store.opening import lock_file
from .enrol import Enrolment, Secret, Secrets

# The folder, beside the devices' half of the keys.
STATE = "state"
# A disk does not wear out like a board's flash, so a fleet leases one answer at a time: it can
# be stopped at any moment and loses none.
LEASE = 1
# Writers at once: a disk flushes for several in the time that it takes for one.
WRITERS = 8


Place = Callable[[str], Any]  # from the name of a device to its slots


class BootedDevices(NamedTuple):
    """Devices whose budgets have booted, as (identity, budget), and sentences on the others."""

    devices: list[tuple[Any, Any]]
    off: list[str]


def keep_slots_in_memory() -> Place:
    """Return slots that are gone with the process, and the keys that they belong to with them."""
    made: dict[str, Any] = {}
    return lambda name: made.setdefault(name, Ram())


@contextmanager
def open_slot_folder(folder: Path) -> Iterator[Place]:
    """Keep the slots in this folder, alone, for as long as the block lasts.

    Raises:
        OperatorFault: it is not there, cannot be used, or another fleet keeps it.
    """
    unusable = (
        f"the folder {folder} cannot be used ({{why}}); it must hold what the devices remember, "
        "for nothing else knows what they have said already. If it is lost, the keys are worth "
        "nothing: move the key files away and enrol the fleet again"
    )
    taken = (
        f"a fleet that runs keeps {folder}; one at a time may, for two devices with one key would "
        "hide two readings under one noise. Stop that fleet first"
    )
    with lock_file(folder / "lock", unusable, taken):
        yield lambda name: Files(str(folder), name)


def write_first_budgets(made: Enrolment, limits: Any, place: Place, window: bytes = b"") -> None:
    """Write the first budget of every newly enrolled device.

    Args:
        window: as `settings.windows.make_window_record` has it.

    Raises:
        OperatorFault: there is a budget already, or it cannot be written.
    """

    def first(secret: Secret) -> None:
        who = secret.identity
        chain = rootkeys.first_chain(made.roots[who.name])
        try:
            enrol.provision(place(who.name), who.state_key, chain, limits, window)
        except (OSError, ValueError) as fault:
            raise OperatorFault(
                f"the budget of {who.name} cannot be made ({fault}); a device without one never "
                "reports. Enrol into an empty folder that is writable"
            ) from fault

    with ThreadPoolExecutor(WRITERS) as writers:
        deque(writers.map(first, made.secrets.devices), 0)


def boot_devices(secrets: Secrets, place: Place, lease: int = LEASE) -> BootedDevices:
    """Start every device: a new epoch on the medium, and the noise key of the last one erased.

    Raises:
        OperatorFault: none of them can start.
    """

    def start(secret: Secret) -> Any:
        who = secret.identity
        ledger = open_budget(place(who.name), who.state_key, lease, Raw())
        try:
            ledger.boot()
        except (OSError, ValueError) as fault:
            return f"device {who.name} stays off: {fault}"
        if ledger.mended:
            log.warning(
                "a device's stored budget had a damaged copy; it was rewritten from the good ones",
                device=who.name,
                found=ledger.mended,
            )
        return who, ledger

    with ThreadPoolExecutor(WRITERS) as writers:
        found = list(writers.map(start, secrets.devices))
    off = [one for one in found if isinstance(one, str)]
    if len(off) == len(found):
        raise OperatorFault(f"no device can start; {off[0] if off else 'none is enrolled'}")
    return BootedDevices([one for one in found if not isinstance(one, str)], off)
