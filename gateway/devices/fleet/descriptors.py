"""Open files for a fleet: each device has a connection, and pipes where it has an interpreter.

Debian lets a process open 1,024 of them if it asks for no more, and more if it does.
"""

import resource

from ...faults import OperatorFault

EACH, APART = 3, 200  # of a device: its connection, two pipes; and of all that is no device


def make_room(devices: int) -> None:
    """Let this process open as many files as so many devices need.

    Raises:
        OperatorFault: it may not.
    """
    needed = EACH * devices + APART
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise OperatorFault(
            f"{devices} devices need {needed} open files and {hard} are allowed here; the rest "
            "would not reach the broker, or could not write their budgets. Ask for fewer with "
            f"--nodes, or allow more: ulimit -Hn {needed}, as root"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
