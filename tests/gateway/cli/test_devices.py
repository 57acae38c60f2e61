"""`heatveil device`: against a real broker that runs, that rests, and one without the plugin."""

import json
import re
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import Mock, patch

import pytest
from sqlalchemy import update

from edge.core import budget, wire
from edge.core.budget import Files, Limits
from edge.core.entropy import Identity
from edge.core.tightening import explain_loosening
from edge.core.window import open_budget
from edge.host.enrol import Ram, provision
from gateway.cli.devices.change import DeviceChange, DeviceFiles
from gateway.devices.broker import dynamic
from gateway.devices.enrol import budgets, enrol, limitsfile
from gateway.devices.enrol.check import check_devices_fit
from gateway.devices.kit import boardfile, settings
from gateway.faults import OperatorFault
from gateway.mechanisms import find_mechanism, plan_first_round
from gateway.mechanisms.thermal.granting import make_first_limits
from gateway.service.intake.outcomes import CountedReport, SecondAnswer
from gateway.service.ledger import Charge, compute_round_rho
from gateway.service.mqtt import access
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.service.steps import sign_round
from gateway.settings import config
from gateway.store.schema import charges
from gateway.store.store import Store
from tests import processes
from tests.conftest import plugin
from tests.processes import find_free_port
from tests.waiting import hearing, may_come


class Site(NamedTuple):
    """A deployment of four sensors, enrolled, with the files of its broker."""

    path: Path
    program: str
    answers: Callable[[int], None]
    heatveil: Callable[..., Any]

    def run(self, *words: object) -> Any:
        return self.heatveil("device", *words, "--config", self.path)

    @property
    def devices(self) -> enrol.Devices:
        return enrol.load_devices(self.path.with_name("devices.json"), "lab")

    @property
    def secrets(self) -> enrol.Secrets:
        return enrol.load_secrets(self.path.with_name("secrets.json"), "lab")

    def board(self, name: str) -> Any:
        (row,) = json.loads(self.path.with_name(f"{name}.device.json").read_text())["devices"]
        return row

    def may_come(self, name: str, password: str) -> bool:
        with Pump("try") as pump:
            own = access.make_device_settings(
                config.load_deployment(self.path).mqtt, name, password
            )
            return may_come(pump, own, "lab")

    @contextmanager
    def broker(self) -> Iterator[None]:
        configuration = self.path.with_name("broker") / "mosquitto.conf"
        with processes.Child(
            [self.program, "-c", configuration], stderr=subprocess.DEVNULL
        ) as child:
            self.answers(config.load_deployment(self.path).mqtt.port)
            try:
                yield
            finally:
                child.terminate()


@pytest.fixture
def make(
    need: Callable[[str], str],
    answers: Callable[[int], None],
    heatveil: Callable[..., Any],
    tmp_path: Path,
) -> Callable[..., Site]:
    """Return what makes a site."""

    def made(sample: str | None = None) -> Site:
        plugin()
        path = tmp_path / "gateway.toml"
        text = (sample or config.make_sample()).replace(
            "port = 8883", f"port = {find_free_port()}"
        )
        path.write_text(text.replace("count = 50 ", "count = 4 "))
        site = Site(path, need("mosquitto"), answers, heatveil)
        assert heatveil("enrol", "--config", path).status == 0
        assert heatveil("broker", "init", "--config", path).status == 0
        return site

    return made


def in_file(site: Site, name: str, password: str) -> bool:
    held = dynamic.parse_plugin_file((site.path.with_name("broker") / dynamic.FILE).read_text())
    return dynamic.has_all_clients(held, {name: password})


def test_a_device_goes_and_a_board_takes_its_place_while_the_broker_runs(
    make: Callable[..., Site],
) -> None:
    """Cut off, forgotten, cleared; the newcomer's one file is all it needs, to the first frame."""
    site = make()
    old = site.secrets.devices[2]
    with site.broker():
        with Pump("fleet") as pump:
            own = access.make_device_settings(
                config.load_deployment(site.path).mqtt, "node-2", old.link_key.hex()
            )
            with_state = Link(own, "heatveil-lab-node-2", pump).wait_connected()
            with_state.publish(wire.topic("lab", "node-2", "state"), b"ready", retain=True)
            assert with_state.wait_until_sent(5)
            with_state.close()
        state = site.path.with_name("state")
        for of_before in ("", ".0"):
            (state / f"node-2.{bytes(4).hex()}.spool{of_before}").touch()
        gone = site.run("remove", "node-2")
        assert (gone.status, gone.err) == (0, "")
        assert "what it retained is cleared" in gone.out
        assert "fewer sensors" in gone.out
        assert "SIGHUP" in gone.out
        assert not site.may_come("node-2", old.link_key.hex())
        assert "node-2" not in site.devices.by_name
        assert "node-2" not in {one.identity.name for one in site.secrets.devices}
        assert not list(state.glob("node-2.*"))
        with hearing(
            config.load_deployment(site.path).mqtt, wire.topic("lab", "+", "state")
        ) as heard:
            time.sleep(0.3)
        assert heard == []

        came = site.run("add", "attic")
        assert (came.status, came.err) == (0, "")
        row = site.board("attic")
        assert stat.S_IMODE(site.path.with_name("attic.device.json").stat().st_mode) == 0o600
        assert site.may_come("attic", row["link"]["password"])
        assert row["steps"] == [[1, 128], [0, 1]]  # the converters that the noise is made for
        assert row["link"]["ca"] == (site.path.with_name("broker") / "ca.pem").read_text()
    assert in_file(site, "attic", row["link"]["password"])
    assert site.devices.by_name["attic"].place == (2, 1)
    # What a board does with its file: a budget, a boot, and keys that the gateway knows.
    who = Identity(
        "lab", row["name"], row["sensor"], row["sensors"], row["mode"],
        *(bytes.fromhex(row.get(key) or json.loads(
            site.path.with_name("attic.device.json").read_text())[key])
          for key in ("site_key", "mac_key", "config_key", "state_key", "key_id")),
    )  # fmt: skip
    held, ram = Limits(*row["limits"]), Ram()
    provision(ram, who.state_key, bytes.fromhex(row["chain"]), held)
    first = budget.Budget(ram, who.state_key)
    first.boot()
    assert first.left == held.budget
    assert who.mac_key == site.devices.by_name["attic"].mac_key
    assert who.site_key == site.devices.site_key


def test_a_virtual_device_gets_new_keys_and_its_old_ones_are_worth_nothing(
    make: Callable[..., Site],
) -> None:
    """Another key id, another password, a fresh budget; password alone keeps the keys."""
    site = make()
    old, known = site.secrets.devices[1], site.devices.by_name["node-1"]
    assert site.run("rotate", "node-1").status == 0
    second = site.secrets.devices[1]
    assert second.identity == old.identity
    assert second.link_key != old.link_key
    assert site.devices.by_name["node-1"] == known

    assert site.run("rotate", "node-1", "--keys").status == 0
    third = site.secrets.devices[1]
    assert third.identity.key_id != old.identity.key_id
    assert site.devices.by_name["node-1"].key_id == third.identity.key_id
    assert site.devices.by_name["node-1"].place == known.place
    assert left(site, "node-1") == left(site, "node-0")
    with site.broker():
        assert site.may_come("node-1", third.link_key.hex())
        assert not site.may_come("node-1", old.link_key.hex())


def test_a_board_with_a_new_password_comes_in_a_new_session(make: Callable[..., Site]) -> None:
    """Whoever knew the old one knows the old session, and could throw the board off."""
    site, links = make(), []
    site.run("remove", "node-3")
    for command in ("add", "rotate"):
        assert site.run(command, "attic").status == 0
        links.append(site.board("attic")["link"])
        site.path.with_name("attic.device.json").unlink()

    for secret in ("password", "client_id"):
        assert links[0].pop(secret) != links[1].pop(secret)
    assert links[0] == links[1]


def test_a_store_that_fails_is_let_go_of(
    make: Callable[..., Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who holds it on would keep the gateway from it."""
    site = make()
    spend(site, 1)
    monkeypatch.setattr(Store, "let_back", Mock(side_effect=OperatorFault("no room")))
    with patch.object(Store, "close", autospec=True, side_effect=Store.close) as close:
        said = site.run("remove", "node-3")

    assert "no room" in said.refusal
    assert close.called


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["add", "node-1"], "enrolled already"),
        (["add", "gateway"], "the gateway's at the broker"),
        (["add", "a/b"], "cannot be a device's name"),
        (["add", "+"], "cannot be a device's name"),
        (["add", "round"], "cannot be a device's name"),
        (["add", "attic"], "all 4 sensors of the room have a device"),
        (["add", "attic", "--sensor", "2"], "sensor 2 already belongs"),
        (["add", "attic", "--sensor", "9"], "sensor 9 does not exist"),
        (["remove", "nod-1"], "did you mean node-1"),
        (["remove", "node-01"], "did you mean node-1"),
        (["remove", "node-13"], "`heatveil device list` says which are"),
        (["rotate", "attic"], "no device attic is enrolled"),
        (["free", "attic"], "no device attic is enrolled"),
    ],
)
def test_what_cannot_be_is_told_and_changes_nothing(
    make: Callable[..., Site], words: list[str], says: str
) -> None:
    """In one line, and every file is as it was."""
    site = make()
    before = {path: path.read_bytes() for path in site.path.parent.rglob("*") if path.is_file()}
    said = site.run(*words)
    assert said.status == 1
    assert says in said.err.replace("Did", "did")
    after = {path: path.read_bytes() for path in site.path.parent.rglob("*") if path.is_file()}
    assert {path.name for path in after.keys() - before.keys()} <= {"devices.json.lock"}
    assert {path: after[path] for path in before} == before


def test_a_file_that_a_board_was_given_is_not_overwritten(make: Callable[..., Site]) -> None:
    """Nothing else holds what is in it."""
    site = make()
    site.run("remove", "node-3")
    path = site.path.with_name("attic.device.json")
    path.write_text("precious")
    said = site.run("add", "attic")
    assert "is not overwritten" in said.refusal
    assert path.read_text() == "precious"
    assert "attic" not in site.devices.by_name


def test_devices_are_shut_out_and_let_back_by_hand(make: Callable[..., Site]) -> None:
    """At the broker and in the store, with the reason, and the list says so."""
    site = make()
    password = site.secrets.devices[1].link_key.hex()
    with site.broker():
        assert site.run("shut", "node-1", "--why", "stolen").status == 0
        assert not site.may_come("node-1", password)
        store = Store(site.path.with_name("heatveil.sqlite"), "lab")
        assert store.list_quarantined()["node-1"][0] == "stolen"
        listed = site.run("list").out
        assert len([line for line in listed.splitlines() if line.startswith("node-")]) == 4
        assert re.search(
            r"node-1: sensor 1, sealed, key \w{8}, never heard, SHUT OUT: stolen", listed
        )
        freed = site.run("free", "node-1")
        assert re.search(r"shut out \d+ s ago: stolen", freed.out)
        assert store.list_quarantined() == {}
        store.close()
        assert site.may_come("node-1", password)


def test_a_clock_that_jumped_is_listed_with_what_happens_next(make: Callable[..., Site]) -> None:
    """Its budget comes back later than that of others: whoever misses its answers looks here."""
    site = make()
    key_id = site.devices.by_name["node-2"].key_id
    with closing(Store(site.path.with_name("heatveil.sqlite"), "lab")) as store:
        store.keep_batch([CountedReport("node-2", 1, 1, b"name", b"frame", key_id)])
        store.keep_jumped_clocks(["node-2"])
    before, line, after = site.run("list").out.splitlines()[1:4]

    assert re.search(r"ago, CLOCK: its clock jumped in a sleep, .* comes back later, after", line)
    assert "CLOCK" not in before + after


class Killed(BaseException):
    """What nobody catches: as far as a command can tell, the end."""


STEPS = {
    "the broker": "gateway.cli.devices.change.DeviceChange._at_broker",
    "the limits": "gateway.devices.enrol.limitsfile.save_limits",
    "the fleet": "gateway.devices.enrol.enrol.save_devices",
    "its file": "gateway.cli.devices.change.DeviceFiles.finish_board_file",
    "its keys": "gateway.cli.devices.change.DeviceFiles.forget_device",
}


def faults(site: Site) -> list[str]:
    """Return what `heatveil check` finds wrong with the devices."""
    said = site.heatveil("check", site.path).out.splitlines()
    return [line for line in said if line.startswith("FAULT") and " devices: " in line]


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "before"),
    [
        (("add", "attic"), "the broker"),
        (("add", "attic"), "the limits"),
        (("add", "attic"), "the fleet"),
        (("add", "attic"), "its file"),
        (("add", "attic", "--virtual"), "the broker"),
        (("add", "attic", "--virtual"), "the fleet"),
        (("remove", "node-1"), "the fleet"),
        (("remove", "node-1"), "its keys"),
        (("rotate", "node-1"), "the broker"),
        (("rotate", "node-1", "--keys"), "the broker"),
        (("rotate", "node-1", "--keys"), "the fleet"),
    ],
)
@pytest.mark.parametrize("runs", [True, False], ids=["running", "resting"])
def test_a_kill_at_any_step_is_named_and_the_same_command_mends_it(
    make: Callable[..., Site],
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    before: str,
    runs: bool,
) -> None:
    """Killed between two of its files; `heatveil check` says so, and a repeat leaves nothing."""
    site = make()
    with site.broker() if runs else nullcontext():
        if command[0] == "add":
            assert site.run("remove", "node-3").status == 0
        assert faults(site) == [], "nothing was killed yet"
        with monkeypatch.context() as patched:
            patched.setattr(STEPS[before], Mock(side_effect=Killed))
            with pytest.raises(Killed):
                site.run(*command)
        assert faults(site), f"killed before {before}, and nobody sees it"
        again = site.run(*command)
        assert (again.status, again.err) == (0, "")
        assert faults(site) == []
        name = command[1]
        assert (name in site.devices.by_name) == (command[0] != "remove")
        if command[0] == "remove" or not runs:
            return
        if "--virtual" in command or command[0] == "rotate":
            (held,) = [one for one in site.secrets.devices if one.identity.name == name]
            password = held.link_key.hex()
            assert held.identity.key_id == site.devices.by_name[name].key_id
        else:
            password = site.board(name)["link"]["password"]
            assert site.board(name)["key_id"] == site.devices.by_name[name].key_id.hex()
        assert site.may_come(name, password)


def spend(site: Site, rounds: int, *, exactly: bool = False) -> None:
    """Charge so many rounds, as a gateway does; exactly: within the budget of the deployment."""
    deployment = config.load_deployment(site.path)
    planned = find_mechanism(deployment.rounds.mechanism).plan(config.make_query(deployment), [])
    whole = compute_round_rho(planned.guarantee) * deployment.privacy.readings
    with closing(Store.open_for(deployment)) as store:
        for number in range(1, rounds + 1):
            asked = sign_round(planned, number, site.devices)._replace(planned=b"%04d" % number)
            assert store.open_round(asked, whole if exactly else Fraction(10**6)) == ""


def left(site: Site, name: str) -> int:
    """Return what a virtual device's budget has left when it starts."""
    (held,) = [one for one in site.secrets.devices if one.identity.name == name]
    who = Files(str(site.path.with_name("state")), name)
    ledger = open_budget(who, held.identity.state_key)
    ledger.boot()
    return int(ledger.left)


def test_new_keys_do_not_bring_a_new_budget(make: Callable[..., Site]) -> None:
    """What the room has paid is not promised again; unless the operator says so in so many words.

    Of 24 readings 10 are asked: the new key has 14 of them, at the very price of each.
    """
    site = make()
    whole = Limits(
        *make_first_limits(config.make_query(config.load_deployment(site.path)), 3600.0)
    )
    price = budget.price(whole, whole.exponent, whole.variance)
    assert whole.budget == 24 * price
    spend(site, 10)
    site.run("remove", "node-3")
    assert site.run("add", "attic").status == 0
    assert Limits(*site.board("attic")["limits"]) == whole._replace(budget=14 * price)
    given = limitsfile.load_limits(site.path.with_name("devices.json"), site.devices)
    assert given["attic"].before == 10 * price
    assert given["node-0"].before == 0

    assert left(site, "node-0") == 24 * price, "the control: it has answered nothing"
    assert site.run("rotate", "node-1", "--keys").status == 0
    assert left(site, "node-1") == 14 * price
    assert site.run("rotate", "node-2", "--keys", "--new-budget").status == 0
    assert left(site, "node-2") == 24 * price
    assert site.run("rotate", "node-2", "--new-budget").status == 2


def test_new_keys_bring_the_answers_that_are_left_of_a_pure_promise(
    make: Callable[..., Site],
) -> None:
    """Devices count a little more for an answer of epsilon 19/12 than the ledger does.

    Nano-rho of the one taken from nano-rho of the other would be a part of an answer too many.
    """
    text = config.make_sample("disk").replace('epsilon = "7/2"', 'epsilon = "38/1"')
    text = text.replace("readings = 1 ", "readings = 24 ").replace("devices = 2000", "devices = 4")
    site = make(sample=text)
    asked = config.make_query(config.load_deployment(site.path))
    whole = Limits(*find_mechanism("disk").serving.limits(asked, 3600.0))
    spend(site, 10)
    assert site.run("rotate", "node-1", "--keys").status == 0
    given = limitsfile.load_limits(site.path.with_name("devices.json"), site.devices)["node-1"]

    assert given.limits == whole._replace(budget=whole.budget // 24 * 14)
    assert given.before == whole.budget // 24 * 10


def test_another_name_does_not_bring_a_new_budget(make: Callable[..., Site]) -> None:
    """What a device said beyond the rounds, its sensor has said: its successor has less."""
    site = make()
    whole = Limits(
        *make_first_limits(config.make_query(config.load_deployment(site.path)), 3600.0)
    )
    price = budget.price(whole, whole.exponent, whole.variance)
    spend(site, 10)
    with closing(Store.open_for(config.load_deployment(site.path))) as store:
        for name in ("node-2", "node-3"):
            one = Charge(store.list_charges()[0].rho, name)
            store.keep_batch([], [], [SecondAnswer(b"%04d" % 1, one, name.encode())])
    site.run("remove", "node-3")
    assert site.run("add", "attic").status == 0

    assert Limits(*site.board("attic")["limits"]) == whole._replace(budget=13 * price)


def test_no_wall_clock_makes_a_new_key_a_new_budget(make: Callable[..., Site]) -> None:
    """Rounds charged by a clock of 1970 are no old ones: the key begins with a spent window."""
    text = config.make_sample().replace("readings = 24 ", "readings = 26\nwindow_h = 24 ")
    site = make(sample=text)
    spend(site, 1)
    with closing(Store.open_for(config.load_deployment(site.path))) as store:
        with store.engine.begin() as connection:
            connection.execute(update(charges).values(at_s=0.0))
        assert store.list_charges() == ()

    said = site.run("rotate", "node-1", "--keys")
    assert (said.status, "silent for up to 26 h" in said.out) == (0, True)
    assert left(site, "node-1") == 0
    assert site.run("rotate", "node-2", "--keys", "--new-budget").status == 0
    assert left(site, "node-2") == left(site, "node-0") > 0


@pytest.mark.parametrize(
    ("warmest", "changes"),
    [
        ("2.0", {'slew = "1/500"': 'slew = "1/1000"'}),
        ("2.0", {"readings = 24": "readings = 12"}),
        ("8.0", {'background = "following"': "", 'slew = "1/500"': ""}),
    ],
    ids=["slew", "readings", "recorded"],
)
def test_no_limits_are_sent_that_are_made_for_another_level_than_a_device_has(
    make: Callable[..., Site], warmest: str, changes: dict[str, str]
) -> None:
    """It would take them, and count less than half of what it gives away with its own level."""
    follows = 'background = "following"\nslew = "1/500"\nadc_step = "1/128"'
    text = config.make_sample().replace('adc_step = "1/128"', follows)
    site = make(sample=text.replace("count = 50 ", "count = 12 "))
    assert site.run("remove", "node-03").status == 0
    assert site.run("add", "attic").status == 0
    text = site.path.read_text().replace('"8/1"', '"4/1"')
    for old, new in {"intensity_max = 1.0": f"intensity_max = {warmest}", **changes}.items():
        assert old in text
        text = text.replace(old, new)
    site.path.write_text(text)
    deployment = config.load_deployment(site.path)
    query, every_s = config.make_query(deployment), deployment.rounds.every_s
    goes = Fraction(1, 500) * 23 / (query.readings - 1)  # as far as before, in as many answers
    own = replace(query, background="following", slew=goes)
    wished, right = (make_first_limits(one, every_s)._replace(version=2) for one in (query, own))
    at = wished.exponent, wished.variance
    known = limitsfile.load_limits(deployment.site.devices, site.devices)
    assert {one.following for one in known.values()} == {(1, 500, 24)}
    assert explain_loosening(known["attic"].limits, wished) == ""
    assert budget.price(right, *at) > 2 * budget.price(wished, *at)

    before = site.path.with_name("limits.json").read_bytes()
    said = site.heatveil("tighten", "--config", site.path)
    assert "follows by 1/500 K at each of 24 answers" in said.refusal
    assert 'slew = "1/500" and readings = 24' in said.refusal
    assert site.path.with_name("limits.json").read_bytes() == before


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (("intensity_max = 1.0 ", "intensity_max = 1.5 "), "node-0 would count"),
        (("readings = 24 ", "readings = 26\nwindow_h = 24 "), "promises one for any 24 h"),
    ],
    ids=["price", "window"],
)
def test_no_device_is_given_what_the_others_do_not_fit(
    make: Callable[..., Site], changed: tuple[str, str], words: str
) -> None:
    """No file would fit all of them, and the gateway start with none; nothing was charged yet."""
    site = make()
    assert site.run("remove", "node-3").status == 0
    former = site.path.read_text()
    assert changed[0] in former
    site.path.write_text(former.replace(*changed))
    files = [site.path.with_name(f"{name}.json") for name in ("devices", "limits", "secrets")]
    before = [file.read_bytes() for file in files]
    for command in (("add", "attic"), ("rotate", "node-1", "--keys")):
        said = site.run(*command)
        assert words in said.refusal
        assert f"{command[1]} gets no keys, and nothing was written" in said.refusal
        assert [file.read_bytes() for file in files] == before

    site.path.write_text(former)
    assert site.run("rotate", "node-1", "--keys").status == 0
    check_devices_fit(config.load_deployment(site.path), site.devices)


def test_more_than_was_promised_is_given_to_no_device(make: Callable[..., Site]) -> None:
    """The gateway would not start on such a file; a board would keep what it was given."""
    site = make()
    spend(site, 10, exactly=True)
    text = site.path.read_text()
    site.path.write_text(re.sub(r"(?m)^readings = \d+", "readings = 48", text))
    assert config.load_deployment(site.path).privacy.readings == 48
    before = site.secrets
    for words in (("node-1", "--keys"), ("node-1", "--keys", "--new-budget")):
        said = site.run("rotate", *words)
        assert "was promised" in said.refusal
    assert site.secrets == before
    site.path.write_text(text)
    assert site.run("rotate", "node-1", "--keys").status == 0


def test_nothing_left_is_no_device(make: Callable[..., Site]) -> None:
    """A device without a single answer would be waited for in vain."""
    site = make()
    spend(site, 24)
    before = site.secrets
    said = site.run("rotate", "node-1", "--keys")
    assert "less than one answer" in said.refusal
    assert site.secrets == before


def test_somebody_whom_the_operator_let_in_is_not_overwritten(make: Callable[..., Site]) -> None:
    """A dashboard's name at the broker is not free for a device."""
    site = make()
    site.run("remove", "node-3")
    path = site.path.with_name("broker") / dynamic.FILE
    held = dynamic.parse_plugin_file(path.read_text())
    held["clients"].append(dynamic.make_client("dashboard", "sesame", "reads", bytes(12)))
    path.write_text(dynamic.format_plugin_file(held))
    resting = site.run("add", "dashboard")
    with site.broker():
        running = site.run("add", "dashboard")
    for said in (resting, running):
        assert "heatveil did not create" in said.refusal
    assert in_file(site, "dashboard", "sesame")
    assert not list(site.path.parent.glob("dashboard.*"))


def test_rights_that_somebody_widened_are_named_and_mended(make: Callable[..., Site]) -> None:
    """A device that may write everywhere is a hole, whoever made it."""
    site = make()
    path = site.path.with_name("broker") / dynamic.FILE
    held = dynamic.parse_plugin_file(path.read_text())
    (role,) = [one for one in held["roles"] if one["rolename"] == dynamic.make_role_name("node-1")]
    role["acls"].append({"acltype": "publishClientSend", "topic": "#", "allow": True})
    path.write_text(dynamic.format_plugin_file(held))
    (found,) = faults(site)
    assert "other rights for node-1" in found
    assert site.run("rotate", "node-1").status == 0
    assert faults(site) == []
    assert "the broker's files and the devices' keys here" in site.heatveil("check", site.path).out


@pytest.mark.parametrize(
    ("mechanism", "mode", "central"), [("thermal", "keyholder", ""), ("ranks", "sealed", "ranks")]
)
def test_who_comes_later_may_answer_what_the_others_may(
    tmp_path: Path, heatveil: Any, mechanism: str, mode: str, central: str
) -> None:
    """Under a key holder, and where a gateway is trusted; else each round would be refused."""
    path, agreed = tmp_path / "gateway.toml", ["--central", central] * bool(central)
    text = re.sub(r"(?m)^(ca_file|username|password_file) .*\n", "", config.make_sample(mechanism))
    text = re.sub(r"(?m)^(count|devices) = \d+", r"\1 = 4", text)
    text = text.replace("# insecure", "insecure").replace("keyholder = false", "keyholder = true")
    path.write_text(text)
    for command in (
        ["enrol", *agreed],
        ["device", "remove", "node-3"],
        ["device", "add", "attic", "--virtual", *agreed],
        ["device", "rotate", "node-1", "--keys"],
    ):
        said = heatveil(*command, "--config", path)
        assert said.status == 0, said.err
    held = enrol.load_devices(
        tmp_path / "devices.json", config.load_deployment(path).site.name
    ).by_name

    assert held.keys() == {"node-0", "node-1", "node-2", "attic"}
    assert {(one.mode, one.central) for one in held.values()} == {(mode, central)}


SUMS = """
[site]
name = "square"
[room]
cells = [8, 8]
[quadtree]
devices = 4
adjacency = "replace-one"
[privacy]
epsilon = "4/1"
[rounds]
mechanism = "quadtree"
[mqtt]
insecure = true
"""


@pytest.fixture
def square(tmp_path: Path, heatveil: Any) -> Path:
    """Return the file of a deployment whose devices add up in a secure sum."""
    path = tmp_path / "site.toml"
    path.write_text(SUMS)
    assert heatveil("enrol", "--config", path).status == 0
    return path


def hand_out(path: Path, name: str) -> None:
    """Make a board's file of a device of secure sums."""
    with DeviceChange(path, name) as change:
        change.add(None, False)


def test_who_has_spoken_in_the_fleet_goes_to_no_board(square: Path) -> None:
    """Two of one key would draw one noise; nor can anybody join who was not enrolled."""
    kept = enrol.load_secrets(square.with_name("secrets.json"), "square")
    with budgets.open_slot_folder(square.with_name(budgets.STATE)) as place:
        budgets.boot_devices(kept, place)

    with pytest.raises(OperatorFault, match="already run"):
        hand_out(square, "node-3")
    with pytest.raises(OperatorFault, match="not in the fleet"):
        hand_out(square, "walker")
    assert not list(square.parent.glob("*.device.json*"))


def test_a_board_that_was_half_handed_out_is_nobody_twice(
    square: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever the machine stops: its file has no name before the fleet has lost its keys."""
    file, kept = square.with_name("node-3.device.json"), square.with_name("secrets.json")
    for step in ("forget_device", "finish_board_file"):
        with monkeypatch.context() as patch:
            patch.setattr(DeviceFiles, step, lambda *_: 1 // 0)
            with pytest.raises(ZeroDivisionError):
                hand_out(square, "node-3")
        assert not file.exists()
        assert ("node-3" in kept.read_text()) is (step == "forget_device")
        if step == "forget_device":
            with (
                DeviceChange(square, "node-3") as change,
                pytest.raises(OperatorFault, match="interrupted"),
            ):
                change.add(None, True)
            assert not file.exists()
    hand_out(square, "node-3")

    assert file.exists()
    assert "node-3" not in kept.read_text()


def test_a_sum_whose_noise_takes_longer_than_the_tick_goes_to_no_board(square: Path) -> None:
    """A frame that is a tick late tells how long its noise was drawn; a longer tick is told."""
    hand_out(square, "node-3")
    held = boardfile.load_board_file(square.with_name("node-3.device.json"), "square", "node-3")
    assert held is not None
    own: dict[str, Any] = {"driver": {"name": "fixed", "cell": [3, 7]}}

    def asked(cells: str) -> Any:
        square.write_text(SUMS.replace("8, 8", cells))
        deployment = config.load_deployment(square)
        return plan_first_round(deployment, config.make_query(deployment))

    settings.check_sum_tick(held, own, asked("8, 8"))
    with pytest.raises(OperatorFault, match="tick_ms = ") as refused:
        settings.check_sum_tick(held, own, asked("32, 32"))
    (needed,) = re.findall(r"tick_ms = (\d+)", str(refused.value))
    settings.check_sum_tick(held, own | {"tick_ms": int(needed)}, asked("32, 32"))
    with pytest.raises(OperatorFault, match="a tick of"):
        settings.check_sum_tick(held, own | {"tick_ms": int(needed) - 1}, asked("32, 32"))
    with pytest.raises(OperatorFault, match="larger epsilon, keep"):
        settings.check_sum_tick(held, own, asked("128, 128"))
