"""A fleet asks for as many open files as it needs, and says so where it may not have them."""

import resource
from collections.abc import Iterator

import pytest

from gateway.devices.fleet import descriptors
from gateway.faults import OperatorFault

FILES = resource.RLIMIT_NOFILE


@pytest.fixture
def before() -> Iterator[tuple[int, int]]:
    """Return what is allowed; it is again, afterwards."""
    allowed = resource.getrlimit(FILES)
    yield allowed
    resource.setrlimit(FILES, allowed)


def test_a_thousand_devices_open_more_files_than_is_usual(before: tuple[int, int]) -> None:
    """Else some would not reach the broker, and be told that there is none."""
    resource.setrlimit(FILES, (1024, before[1]))
    descriptors.make_room(100)
    assert resource.getrlimit(FILES)[0] == 1024
    descriptors.make_room(1000)
    assert resource.getrlimit(FILES) == (3200, before[1])


def test_what_is_not_allowed_is_said(before: tuple[int, int]) -> None:
    """Before any device has started."""
    if before[1] == resource.RLIM_INFINITY:
        pytest.skip("nothing is forbidden here: ulimit -Hn says unlimited")
    with pytest.raises(OperatorFault, match=r"need \d+ open files and \d+ are allowed.*--nodes"):
        descriptors.make_room(before[1])
