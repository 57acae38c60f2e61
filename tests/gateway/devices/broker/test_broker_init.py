"""`heatveil broker init`: all files of a broker, that fit each other; none is overwritten."""

import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from gateway.cli.devices.broker import Files
from gateway.devices.broker import certificates, dynamic
from gateway.devices.enrol import enrol
from gateway.faults import OperatorFault
from gateway.settings import config

SECRET = {"ca.key", "server.key", dynamic.FILE, "gateway.password"}
OPEN = {"ca.pem", "server.pem", "mosquitto.conf"}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return the sample deployment file, with three devices enrolled beside it."""
    path = tmp_path / "gateway.toml"
    path.write_text(config.sample())
    enrol.save_secrets(enrol.enrol_fleet("lab", 3).secrets, tmp_path / "secrets.json")
    return path


@pytest.fixture
def init(site: Path, heatveil: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command, for this deployment."""
    plugin = "--plugin", "/usr/lib/it.so"
    return lambda *words: heatveil("broker", "init", *plugin, "--config", site, *words)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def names(folder: Path) -> list[str]:
    found = x509.load_pem_x509_certificate((folder / "server.pem").read_bytes())
    held = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return [str(name.value) for name in held]


def test_it_writes_all_files_and_says_what_to_do_next(init: Any, site: Path) -> None:
    """The sample names these very files, so there is nothing to write down."""
    said = init()
    folder = site.parent / "broker"

    assert (said.status, said.err) == (0, "")
    assert contents(folder).keys() == SECRET | OPEN
    written = (folder / "mosquitto.conf").read_text().splitlines()
    assert "allow_anonymous false" in written
    assert sum(line.startswith("listener") for line in written) == 1
    assert [line[:2] for line in said.out.splitlines()[1:4]] == ["1.", "2.", "3."]
    assert "nothing to do" in said.out
    assert f"mosquitto -c {folder / 'mosquitto.conf'}" in said.out
    deployment = config.load(site).mqtt
    assert deployment.password_file == folder / "gateway.password"
    assert deployment.ca_file == folder / "ca.pem"


def test_what_is_secret_is_for_its_owner_alone(init: Any, site: Path) -> None:
    """Keys and passwords, and the folder they lie in."""
    init()
    folder = site.parent / "broker"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}

    assert {name for name, mode in modes.items() if mode == 0o600} == SECRET
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert modes["data"] == 0o700


def test_no_password_and_no_key_is_told_or_stored_as_it_is(init: Any, site: Path) -> None:
    """A terminal is seen by others, and a broker's disk is not the devices'."""
    said = init()
    found = contents(site.parent / "broker")
    own = found["gateway.password"].strip()
    devices = enrol.load_secrets(site.parent / "secrets.json", "lab").devices

    assert len(own) == 64
    assert own.decode() not in said.out
    for name in found.keys() - {"gateway.password"}:
        assert own not in found[name]
        assert not any(device.link_key.hex().encode() in found[name] for device in devices)


def test_a_second_run_changes_nothing(init: Any, site: Path) -> None:
    """New certificates would shut out every board that trusts the old ones."""
    init()
    before = contents(site.parent / "broker")
    said = init()

    assert said.status == 0
    assert "nothing was written" in said.out
    assert contents(site.parent / "broker") == before


def test_an_old_certificate_is_renewed_by_the_same_authority(init: Any, site: Path) -> None:
    """So that no board has to be given another one: the authority lies on all of them."""
    init()
    folder = site.parent / "broker"
    before = contents(folder)
    (folder / "server.pem").unlink()
    (folder / "server.key").unlink()
    said = init("--host", "broker.example", "--host", "192.0.2.7")
    after = contents(folder)

    assert said.status == 0
    assert {name for name in after if after[name] != before[name]} == {"server.pem", "server.key"}
    assert names(folder) == ["127.0.0.1", "broker.example", "192.0.2.7"]


def test_a_broker_known_by_this_machines_names_alone_listens_here_alone(
    init: Any, site: Path
) -> None:
    """A trial must not open a port to the building."""
    init()
    assert "listener 8883 127.0.0.1\n" in (site.parent / "broker" / "mosquitto.conf").read_text()
    init("--host", "broker.example", "--folder", site.parent / "other")

    assert "listener 8883\n" in (site.parent / "other" / "mosquitto.conf").read_text()


def test_the_authority_signs_brokers_and_no_authorities(init: Any, site: Path) -> None:
    """And what the broker keeps for who is away outlives its restart."""
    init()
    folder = site.parent / "broker"
    found = x509.load_pem_x509_certificate((folder / "ca.pem").read_bytes()).extensions

    held = found.get_extension_for_class(x509.BasicConstraints)
    assert (held.critical, held.value.ca, held.value.path_length) == (True, True, 0)
    assert "\npersistence true\n" in (folder / "mosquitto.conf").read_text()


def by_plain_files(folder: Path) -> None:
    """Make a broker go by a list of passwords: to remove a device would change another file."""
    (folder / dynamic.FILE).unlink()
    path = folder / "mosquitto.conf"
    lines = [line for line in path.read_text().splitlines() if not line.startswith("plugin")]
    path.write_text("\n".join([*lines, f"password_file {folder}/passwords", ""]))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda folder: (folder / "ca.key").unlink(), "ca.pem is there without ca.key"),
        (lambda folder: (folder / "server.key").write_bytes(b""), "no private key"),
        (
            lambda folder: (folder / "server.key").write_bytes((folder / "ca.key").read_bytes()),
            "does not belong to server.pem",
        ),
        (lambda folder: (folder / "gateway.password").unlink(), "is of another"),
        (lambda folder: (folder / "server.key").unlink(), "server.pem is there without"),
        (lambda folder: (folder / "server.pem").write_bytes(b"\xff"), "no broker's certificate"),
        (lambda folder: (folder / dynamic.FILE).write_bytes(b"\xff"), "is no text"),
        (by_plain_files, "mosquitto.conf does not let in by dynamic-security.json"),
    ],
)
def test_files_that_do_not_fit_are_told_and_left(
    init: Any, site: Path, spoil: Callable[[Path], Any], words: str
) -> None:
    """One line that names the file, and not a byte is changed."""
    init()
    folder = site.parent / "broker"
    spoil(folder)
    if words.startswith("ca.pem"):
        (folder / "server.pem").unlink()
        (folder / "server.key").unlink()
    before = contents(folder)
    said = init()

    assert contents(folder) == before
    assert said.status == 1
    assert said.err.count("\n") == 1
    assert words in said.err
    assert "Nothing was written" in said.err


def test_an_expired_certificate_is_said_to_be(init: Any, site: Path) -> None:
    """And how to get another: the one thing that stops a whole building at once."""
    init()
    folder = site.parent / "broker"
    signer = certificates.Pair(*((folder / f"ca.{end}").read_bytes() for end in ("pem", "key")))
    old = certificates.make_server(["127.0.0.1"], signer, datetime.now(UTC) - timedelta(days=4000))
    (folder / "server.pem").write_bytes(old.certificate)
    (folder / "server.key").write_bytes(old.key)
    said = init()

    assert said.status == 1
    assert "has expired" in said.err
    assert "move server.pem and server.key away" in said.err


@pytest.mark.parametrize(
    "host", ["", "two words", "-x", "a..b", "https://broker", "300.1.2.3", "*", "x" * 64]
)
def test_what_is_no_host_is_refused(init: Any, site: Path, host: str) -> None:
    """A certificate for a name that nobody can write would shut everybody out."""
    said = init("--host", host)

    assert said.status == 1
    assert "neither a host name nor" in said.err
    assert not (site.parent / "broker").exists()


def test_a_device_with_the_gateways_name_is_refused(init: Any, site: Path) -> None:
    """The broker tells them apart by name: it could ask and command like the gateway."""
    site.write_text(config.sample().replace('username = "gateway"', 'username = "node-1"'))
    said = init()

    assert said.status == 1
    assert "also the name of a device" in said.err


def test_half_a_broker_is_not_left_behind(site: Path) -> None:
    """A disk that is full in the middle leaves nothing that would be kept the next time."""
    folder = site.parent / "broker"
    files = Files(folder)
    files.add("one", b"1")
    files.add("two", b"2")
    folder.mkdir()
    (folder / "two").symlink_to("nowhere")
    with pytest.raises(OperatorFault, match=r"two cannot be written \(File exists\)"):
        files.write("data")

    assert not (folder / "one").exists()
