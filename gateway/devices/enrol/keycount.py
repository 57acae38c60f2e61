"""How many keys each sensor has had under one promise, so that there are no more than it counts.

A promise over noise from tables sets a part of delta aside for so many keys of each device in one
window (`recovery.thermal.guarantee.KEYS`). Whoever enrols the same sensor once more in the same
folder goes on with the same promise, so the keys of that sensor are counted, whatever the device
that reads it is called, and one too many is not made. The count is on the disk before the key is:
one that never came to a board has counted all the same.

A file beside the devices file. Where there is none, as with fleets of an older heatveil, every
sensor that has a device has had one key, or as many as the gateway has heard of.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ...faults import OperatorFault
from ...service.rounds import Place
from . import keyfile
from .enrol import Devices

HOLDS = "counts of keys"


def locate_key_counts(devices_path: Path) -> Path:
    """Return where the counts of these devices' sensors are kept."""
    return devices_path.with_name("keys.json")


def load_key_counts(
    devices_path: Path, devices: Devices, heard: Mapping[str, int]
) -> dict[int, int]:
    """Return how many keys each sensor has had, by its number.

    Args:
        heard: of how many keys of each device the gateway has heard, by name.

    Raises:
        OperatorFault: there is a file, and it cannot be read.
    """
    path, found = locate_key_counts(devices_path), dict[int, int]()
    if path.exists():
        found.update(keyfile.read_key_file(path, HOLDS, devices.site, _parse_count_row)[1])
    for name, device in devices.by_name.items():
        for sensor in _list_sensors(device.place):
            found[sensor] = max(found.get(sensor, 0), heard.get(name, 0), 1)
    return found


def save_key_counts(devices_path: Path, devices: Devices, counts: Mapping[int, int]) -> None:
    """Write the counts, flushed; of a device that goes too, whose sensor another may get.

    Raises:
        OperatorFault: they cannot be written.
    """
    rows = [{"sensor": sensor, "keys": keys} for sensor, keys in sorted(counts.items())]
    keyfile.write_key_file(locate_key_counts(devices_path), HOLDS, devices.site, rows)


def count_new_key(
    devices_path: Path,
    devices: Devices,
    place: Place,
    heard: Mapping[str, int],
    most: int | None,
) -> dict[int, int]:
    """Count a new key of a place before it is given to anybody; return the counts before.

    Args:
        heard: as of `load_key_counts`.
        most: keys that the promise is for; None where it is for any number.

    Raises:
        OperatorFault: it would be one more than the promise is for, or cannot be counted.
    """
    counts = load_key_counts(devices_path, devices, heard)
    had = max(counts.get(sensor, 0) for sensor in _list_sensors(place))
    if most is not None and had >= most:
        raise _make_too_many_fault(place.sensor, had, most)
    save_key_counts(
        devices_path, devices, {**counts, **dict.fromkeys(_list_sensors(place), had + 1)}
    )
    return counts


@contextmanager
def count_key_while_giving(
    devices_path: Path,
    devices: Devices,
    place: Place,
    heard: Mapping[str, int],
    most: int | None,
    *,
    sure: bool,
) -> Iterator[None]:
    """Count a new key as `count_new_key` does, while the block gives it to somebody.

    Args:
        sure: it counts though the block fails, for a virtual device may have been started with it.

    Raises:
        OperatorFault: as `count_new_key`, and as the block.
    """
    before = count_new_key(devices_path, devices, place, heard, most)
    try:
        yield
    except OperatorFault:
        if not sure:
            save_key_counts(devices_path, devices, before)
        raise


def count_fleet_keys(devices_path: Path, devices: Devices, most: int | None) -> None:
    """Count the keys of a whole fleet, before any is written, for another may be enrolled there.

    Args:
        most: as of `count_new_key`. A first fleet whose promise is for any number has no file.

    Raises:
        OperatorFault: a sensor would have one more than the promise is for, or they cannot be
            counted. Nothing is changed.
    """
    if most is None and not locate_key_counts(devices_path).exists():
        return
    before = load_key_counts(devices_path, devices._replace(by_name={}), {})
    places = [one.place for one in devices.by_name.values()]
    more = {one: before.get(one, 0) + 1 for place in places for one in _list_sensors(place)}
    for sensor, keys in more.items():
        if most is not None and keys > most:
            raise _make_too_many_fault(sensor, keys - 1, most)
    save_key_counts(devices_path, devices, {**before, **more})


def _make_too_many_fault(sensor: int, had: int, most: int) -> OperatorFault:
    return OperatorFault(
        f"sensor {sensor} has had {had} keys, and the promise allows {most} for each sensor in "
        "one window: the noise drawn from tables is slightly inexact, each key may draw its full "
        "amount, and one more would exceed the delta that is reserved for that. Go on without "
        "this sensor, or make a new promise to the people in the room: enrol again, in a new "
        "folder"
    )


def _list_sensors(place: Place) -> Iterable[int]:
    return range(place.sensor, place.sensor + place.sensors)


def _parse_count_row(_: keyfile.Row, row: keyfile.Row) -> tuple[int, int]:
    sensor, keys = row["sensor"], row["keys"]
    if type(sensor) is not int or type(keys) is not int or min(sensor, keys) < 0:
        raise ValueError(f"sensor {sensor} with {keys} keys")
    return sensor, keys
