"""What devices say to tighter limits: anybody with a device's password may say anything.

`heatveil tighten`: over the air privacy goes up, and nobody can make it go down.
"""

import io
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from structlog.testing import capture_logs

from edge.core import tightening, wire
from edge.core.budget import Limits
from edge.host import post
from edge.mechanisms import disk_limits
from gateway.cli.devices.change import DeviceChange
from gateway.devices.enrol import budgets, enrol, limitsfile
from gateway.devices.enrol.capped import make_capped_limits, tighten_limits
from gateway.devices.enrol.check import check_devices_fit
from gateway.devices.fleet.crowd import Crowd
from gateway.devices.owner.tighten import LimitAnswers
from gateway.faults import LinkFault, OperatorFault
from gateway.mechanisms import make_first_limits, plan_first_round
from gateway.mechanisms.places import Standing
from gateway.service.ledger import compute_round_rho
from gateway.service.mqtt.connection import Message
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.service.serving import Service
from gateway.service.steps import sign_round
from gateway.settings import config
from gateway.settings.deployment import Mqtt
from gateway.store.opening import lock_store
from gateway.store.places import find_place
from gateway.store.store import Store
from physics.fleet import Fleet
from physics.sensors import PointSensors
from tests.processes import Child, find_free_port
from tests.waiting import eventually, find_kept, hearing

PROGRAM = Path(sys.executable).with_name("heatveil")
SENT = {"node-1": Limits(2, 0, 1, 1, 1, 0)}


@pytest.mark.parametrize(
    "payload",
    [
        *(b"", b"[]", b"7", b"\xff", b'{"verb": "limits"}', b"[" * 30_000, b'{"a":' * 5000),
        b'["limits", 2, true, ""]',
        b'{"verb": "limits", "version": 3, "taken": true, "why": ""}',
        b'{"verb": "reboot", "version": 2, "taken": true, "why": ""}',
    ],
)
def test_what_is_no_answer_ends_nothing(payload: bytes) -> None:
    """It would take the answers with it behind it; a reason reaches no terminal as it is."""
    answers, gone = LimitAnswers(SENT), list[Message]()
    link: Any = SimpleNamespace(acknowledge=gone.append)

    def say(name: str, body: bytes) -> None:
        answers.take_message(link, Message(f"heatveil/1/lab/{name}/ack", body, (1, 1)))

    say("node-1", payload)
    assert (len(gone), answers.taken, answers.refused) == (1, set(), {})
    say("node-1", b'{"verb": "limits", "version": 2, "taken": "yes", "why": "\\u001b[2Jowned"}')
    assert answers.refused == {"node-1": " [2Jowned"}
    for name in ("node-9", "node-1"):
        say(name, b'{"verb": "limits", "version": 2, "taken": true, "why": ""}')
    assert answers.taken == {"node-1"}


Heatveil = Callable[..., Any]


@pytest.fixture
def site(mosquitto: Mqtt, site_of: Callable[..., Any], request: pytest.FixtureRequest) -> Any:
    """Return a site on the broker that no other test has."""
    name = f"tight-{abs(hash(request.node.name)) % 10**9}"
    return site_of(site=name, port=mosquitto.port)


@contextmanager
def fleet(owned: Any) -> Iterator[Fleet]:
    """Put the site's devices on the broker."""
    there = Fleet(
        owned.started(),
        PointSensors(np.array([1.0, 5.0, 9.0]), 0.0, None),
        np.random.default_rng(1),
    )
    with Crowd(owned.deployment.mqtt, there):
        yield there


def limits_heard(owned: Any) -> AbstractContextManager[list[Message]]:
    """Hear the limits that are sent to any device."""
    return hearing(
        owned.deployment.mqtt, wire.topic(owned.deployment.site.name, "+", "cmd/limits")
    )


def tighten(heatveil: Heatveil, owned: Any, *words: object) -> Any:
    """Run the command on a site."""
    return heatveil("tighten", "--config", owned.config, "--patience", 5, *words)


def held(there: Fleet) -> dict[str, Any]:
    """Return the limits that each device holds."""
    return {name: there.find_node(name).budget.limits for name in there.names}


def test_devices_take_tighter_limits_and_keep_them(heatveil: Heatveil, site: Any) -> None:
    """Half of the epsilon: from now on every answer has the noise for it, after a restart too."""
    before = site.limits
    with fleet(site) as there:
        site.write(epsilon="4/1")
        said = tighten(heatveil, site)
        now = held(there)
    with fleet(site) as again:
        kept = held(again)

    assert "taken by 3 of 3" in said.success
    assert said.out.splitlines()[-1].endswith("start it with this file.")
    assert len(set(now.values())) == 1
    new = now["node-0"]
    assert new.version == 2
    assert new.variance > before.variance
    assert new.budget < before.budget
    assert kept == now


def test_a_device_that_sleeps_has_them_when_it_wakes(heatveil: Heatveil, site: Any) -> None:
    """The broker keeps the message; the operator hears who has not answered."""
    site.write(every_s="10")
    said = heatveil("tighten", "--config", site.config, "--patience", 0.2)

    assert "taken by 0 of 3" in said.success
    assert "silent: node-0 and 2 others" in said.out
    with fleet(site) as there:
        assert eventually(lambda: {each.version for each in held(there).values()} == {2})
        again = tighten(heatveil, site)
        assert held(there)["node-1"].pace_ms > site.limits.pace_ms

    assert "taken by 3 of 3" in again.out
    assert "version 2 goes to" in again.out  # what was sent already is sent again, not anew


def test_what_ends_a_deployment_is_asked_about(
    heatveil: Heatveil, site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three rounds at epsilon 8 of 40 readings cost more than epsilon 1; devices never go back."""
    site.boot()
    for _ in range(3):
        site.ask([0, 0, 0])
    site.write(epsilon="1/1")
    words = "tighten", "--config", site.config, "--patience", 0
    file = limitsfile.locate_limits(site.deployment.site.devices)
    before = file.read_bytes()
    monkeypatch.setattr("sys.stdin", io.StringIO())
    asked = heatveil(*words)
    assert file.read_bytes() == before
    noted = heatveil("check", site.config).out
    done = heatveil(*words, "--yes")

    assert "is spent, and this file promises 1: nothing is asked any more" in asked.out
    assert "nothing was sent" in asked.refusal
    assert "more than that is spent already" in noted
    assert "version 2 goes to" in done.success


def test_limits_that_leave_something_are_sent_at_once(heatveil: Heatveil, site: Any) -> None:
    """A script that tightens has nobody to answer."""
    site.boot()
    site.ask([0, 0, 0])
    site.write(epsilon="4/1")
    said = heatveil("tighten", "--config", site.config, "--patience", 0)

    assert "is spent" not in said.success
    assert "more than that" not in heatveil("check", site.config).out


def test_a_file_that_devices_were_not_told_of_is_named(heatveil: Heatveil, site: Any) -> None:
    """The gateway asks with more noise, and a forged round would still be answered with less."""
    words = "3 devices, such as node-0, still take rounds with less noise"
    assert words not in heatveil("check", site.config).out
    site.write(epsilon="4/1")
    with capture_logs() as logged, Service(config.load_deployment(site.config), site.devices):
        pass
    before = heatveil("check", site.config).out
    heatveil("tighten", "--config", site.config, "--patience", 0)

    assert words in before
    assert [one["why"][: len(words)] for one in logged if "why" in one] == [words]
    assert words not in heatveil("check", site.config).out


def test_a_gateway_that_runs_is_to_be_started_again(heatveil: Heatveil, site: Any) -> None:
    """It may ask with the old noise, which devices refuse; where none runs there is no such."""
    site.write(every_s="10")
    Store.open_for(site.deployment).close()
    words = "tighten", "--config", site.config, "--patience", 0
    with lock_store(find_place(site.deployment)):
        running = heatveil(*words).success
    stopped = heatveil(*words).success

    assert "stop it and start it again" in running.splitlines()[-1]
    assert "No gateway of this site runs here" in stopped.splitlines()[-1]


def test_one_device_can_be_tightened_alone(heatveil: Heatveil, site: Any) -> None:
    """A sensor over a bed may deserve more than one in a corridor."""
    site.write(every_s="10")
    with fleet(site) as there:
        said = tighten(heatveil, site, "--device", "node-1")
        versions = {name: each.version for name, each in held(there).items()}
    unknown = tighten(heatveil, site, "--device", "nod-1")

    assert said.status == 0, said.err
    assert versions == {"node-0": 1, "node-1": 2, "node-2": 1}
    known = limitsfile.load_limits(site.deployment.site.devices, site.devices)
    assert {name: given.limits.version for name, given in known.items()} == versions
    assert "did you mean node-1" in unknown.refusal


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "Restore limits.json"),
        ("", "current limits cannot be read"),
        ("{", "current limits cannot be read"),
    ],
)
def test_limits_that_are_gone_or_damaged_are_not_taken_for_none(
    heatveil: Heatveil, site: Any, text: str | None, words: str
) -> None:
    """Versions would begin anew, and every device would refuse them."""
    file = limitsfile.locate_limits(site.deployment.site.devices)
    file.unlink()
    if text is not None:
        file.write_text(text)
    site.write(every_s="10")
    with limits_heard(site) as heard:
        said = tighten(heatveil, site)
        time.sleep(0.2)

    assert words in said.refusal
    assert heard == []
    assert (file.read_text() if file.exists() else None) == text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon": "9/1"}, "less noise"),
        ({"readings": 20}, "less noise"),
        ({"every_s": "0.02"}, "a faster pace"),
    ],
)
def test_what_is_looser_is_not_even_sent(
    heatveil: Heatveil, site: Any, changes: dict[str, Any], words: str
) -> None:
    """The operator hears at once which field it is; the version is not used up."""
    site.write(**changes)
    file = limitsfile.locate_limits(site.deployment.site.devices)
    before = file.read_bytes()
    with limits_heard(site) as heard:
        said = tighten(heatveil, site)
        time.sleep(0.2)

    assert said.status == 1
    assert words in said.err
    assert "nothing was sent" in said.err
    assert heard == []
    assert file.read_bytes() == before


def test_more_readings_are_not_sent_at_any_epsilon(heatveil: Heatveil, site: Any) -> None:
    """By how noise is rounded, some would come out as no larger a budget, and some would not."""
    file = limitsfile.locate_limits(site.deployment.site.devices)
    before = file.read_bytes()
    for epsilon in ("8/1", "4/1"):
        site.write(readings=41, epsilon=epsilon)
        assert "readings went from 40 to 41" in tighten(heatveil, site).refusal

    assert file.read_bytes() == before


def test_limits_of_a_window_are_not_sent_to_devices_that_count_for_life(
    heatveil: Heatveil, site: Any
) -> None:
    """They would keep them for good, and the gateway would not start with the file."""
    site.write(window_h=24, every_s="3600")
    file = limitsfile.locate_limits(site.deployment.site.devices)
    before = file.read_bytes()
    said = tighten(heatveil, site)

    assert "enrolled with a budget for its life" in said.refusal
    assert file.read_bytes() == before


def test_a_refusal_is_told_and_leaves_status_one(heatveil: Heatveil, site: Any) -> None:
    """Noise counts together: one device that keeps its old limits is the operator's business."""
    with fleet(site) as there:
        for_good = site.limits._replace(version=9)
        there.find_node("node-2").budget.tighten(for_good)
        site.write(every_s="10")
        said = tighten(heatveil, site)

    assert said.status == 1
    assert "taken by 2 of 3" in said.out
    assert "refused by node-2: limits of version 2 came, and version 9" in said.out
    assert "node-2 refused" in said.err


def test_the_version_is_on_the_disk_before_anything_is_sent(
    heatveil: Heatveil, site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed in between, it must not give one version to two limits; and `check` tells of it."""

    class Killed(BaseException):
        pass

    site.write(every_s="10")
    with monkeypatch.context() as dying:
        dying.setattr("gateway.devices.owner.tighten.post.pack_limits", Mock(side_effect=Killed))
        with pytest.raises(Killed):
            tighten(heatveil, site)
    known = limitsfile.load_limits(site.deployment.site.devices, site.devices)
    told = heatveil("check", site.config).out
    heatveil("tighten", "--config", site.config, "--patience", 0, "--device", "node-1")
    fewer = heatveil("check", site.config).out
    heatveil("tighten", "--config", site.config, "--patience", 0)

    assert {given.limits.version for given in known.values()} == {2}
    assert "FAULT  devices: heatveil tighten broke off: the new limits of 3 devices" in told
    assert "the new limits of 2 devices, such as node-0, are recorded" in fewer
    assert "broke off" not in heatveil("check", site.config).out


@pytest.mark.long
def test_what_devices_were_given_is_changed_by_one_command_at_a_time(
    heatveil: Heatveil, site: Any
) -> None:
    """Else one version goes to two limits, or the row of a device with new keys is lost."""
    path, own = site.deployment.site.devices, ("--config", site.config)
    site.write(every_s="10")
    words = [PROGRAM, "tighten", *own, "--patience", "3600"]
    with limits_heard(site) as heard, Child(words, stdout=subprocess.PIPE, text=True) as first:
        assert eventually(lambda: len(heard) == 3)  # it waits for answers now
        site.write(every_s="20")
        refused = heatveil("tighten", *own, "--patience", 0)
        refused_keys = heatveil("device", "rotate", "node-1", "--keys", *own)
        assert refused.refusal == refused_keys.refusal
        assert "another command changes the devices or their limits" in refused.err
        with fleet(site):
            said, _ = first.communicate()
    after = limitsfile.load_limits(path, site.devices)

    assert (first.returncode, len(heard)) == (0, 3)
    assert "taken by 3 of 3" in said
    assert {(one.limits.version, one.limits.pace_ms, one.unsent) for one in after.values()} == {
        (2, 5000, False)
    }
    assert "version 3 goes to" in heatveil("tighten", *own, "--patience", 0).success


def test_no_limits_are_sent_while_a_device_is_changed(heatveil: Heatveil, site: Any) -> None:
    """They would be signed with keys, and go on from limits, that are about to go."""
    file = limitsfile.locate_limits(site.deployment.site.devices)
    before = file.read_bytes()
    site.write(every_s="10")
    with DeviceChange(site.config, "node-1"):
        said = tighten(heatveil, site)
    sent = find_kept(site.deployment.mqtt, wire.topic(site.devices.site, "+", "cmd/limits"))

    assert "another command changes the devices" in said.refusal
    assert (sent, file.read_bytes()) == ([], before)


def test_without_a_broker_nothing_is_changed(heatveil: Heatveil, site: Any) -> None:
    """Else the former file would be refused for limits that no device ever heard of."""
    file = limitsfile.locate_limits(site.deployment.site.devices)
    before, words = file.read_bytes(), "nothing was recorded or sent: "
    site.write(epsilon="4/1", port=find_free_port())
    said = tighten(heatveil, site)

    assert words in said.refusal
    assert file.read_bytes() == before


def test_a_fault_after_the_record_does_not_deny_it(
    heatveil: Heatveil, site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An owner who believes that nothing was recorded goes back to a file that is refused."""
    file = limitsfile.locate_limits(site.deployment.site.devices)
    before = file.read_bytes()
    site.write(epsilon="4/1")
    monkeypatch.setattr(Link, "publish", Mock(side_effect=LinkFault("the broker went away")))
    said = tighten(heatveil, site)

    assert "the broker went away" in said.refusal
    assert file.read_bytes() != before
    assert "nothing was recorded" not in said.refusal


def test_who_goes_back_after_tightening_is_told_what_devices_hold(
    heatveil: Heatveil, site: Any
) -> None:
    """What they were enrolled with is what they refuse."""
    site.write(epsilon="4/1")
    heatveil("tighten", "--config", site.config, "--patience", 0)
    site.write(epsilon="8/1")
    told = heatveil("check", site.config).out

    assert "Go back to the [privacy], [room], [heat] and [sensors] that it was last" in told


def test_the_broker_keeps_nothing_for_a_command_that_is_over(
    heatveil: Heatveil, site: Any
) -> None:
    """Answers of years would wait there, each for a command that asked something else."""
    site.write(site=site.deployment.site.name, port=site.deployment.mqtt.port, every_s="10")
    name = site.deployment.site.name
    heatveil("tighten", "--config", site.config, "--patience", 0)
    with Pump("late") as pump:
        speaker = Link(site.deployment.mqtt, f"late-{name}", pump).wait_connected()
        speaker.publish(wire.topic(name, "node-0", "ack"), b"{}")
        assert speaker.wait_until_sent(5)
        speaker.close()

    assert find_kept(site.deployment.mqtt, session=f"heatveil-{name}-tighten") == []


def test_what_devices_count_for_is_kept_with_tighter_limits(heatveil: Heatveil, site: Any) -> None:
    """Else `serve` would say that its devices were enrolled for life, and a promise would end."""
    path, site_name = site.deployment.site.devices, site.deployment.site.name
    known = limitsfile.load_limits(path, site.devices)
    windowed = {name: one._replace(window_h=24) for name, one in known.items()}
    limitsfile.save_limits(path, site_name, windowed)
    site.write(window_h=24, every_s="3600")
    said = heatveil("tighten", "--config", site.config, "--patience", 0)
    after = limitsfile.load_limits(path, site.devices)

    assert said.status == 0, said.err
    assert {one.limits.version for one in after.values()} == {2}
    assert {one.window_h for one in after.values()} == {24}


# `heatveil tighten` where devices answer places: a smaller epsilon, a budget that fell too.

SITE = """
[site]
name = "{name}"
[room]
cells = [5, 4]
[disk]
devices = 3
scheme = "dam-ns"
radius = 1
[privacy]
epsilon = "{epsilon}"
readings = {readings}
[rounds]
mechanism = "disk"
every_s = 0.1
[mqtt]
port = {port}
insecure = true
"""


class Street:
    """Three people with a device each, enrolled for four answers of epsilon 3/4."""

    def __init__(self, mqtt: Mqtt, folder: Path, name: str) -> None:
        self.mqtt, self.name, self.config = mqtt, name, folder / "site.toml"
        deployment = self.asks("3/1", 4)
        self.plan = plan_first_round(deployment, config.make_query(deployment))
        self.made, self._place = enrol.enrol_fleet(name, 3), budgets.keep_slots_in_memory()
        self.devices = enrol.derive_gateway_half(self.made.secrets)
        self.limits = make_first_limits(deployment, config.make_query(deployment))
        enrol.save_devices(self.devices, deployment.site.devices)
        limitsfile.save_first_limits(deployment.site.devices, self.devices, self.limits)
        budgets.write_first_budgets(self.made, self.limits, self._place)

    def asks(self, epsilon: str, readings: int) -> Any:
        """Write the deployment file anew, and return what it says."""
        values = {"epsilon": epsilon, "readings": readings, "port": self.mqtt.port}
        self.config.write_text(SITE.format(name=self.name, **values))
        return config.load_deployment(self.config)

    def people(self) -> Any:
        """Return the devices, freshly started."""
        started = budgets.boot_devices(self.made.secrets, self._place).devices
        return Fleet(started, Standing(np.zeros((1, 3), np.int64), 5), None, mechanism="disk")

    def message(self, plan: Any) -> bytes:
        """Return the signed bytes of a round."""
        topic = wire.round_topic(self.name, "disk")
        return bytes(post.pack_round(plan, self.devices.site_key, topic))


@pytest.fixture
def street(mosquitto: Mqtt, tmp_path: Path, request: pytest.FixtureRequest) -> Street:
    """Return a street whose site no other test has."""
    return Street(mosquitto, tmp_path, f"street-{abs(hash(request.node.name)) % 10**9}")


def test_devices_take_a_smaller_epsilon_and_answer_no_larger_one(
    street: Street, heatveil: Callable[..., Any]
) -> None:
    """Two thirds of it in one answer: the old Round is refused, the new one has its answers."""
    people = street.people()
    with Crowd(street.mqtt, people):
        deployment = street.asks("2/1", 4)
        said = heatveil("tighten", "--config", street.config, "--patience", 5)
    asked = plan_first_round(deployment, config.make_query(deployment))

    assert "an epsilon of at most 0.5 an answer" in said.success
    assert "taken by 3 of 3" in said.out
    for number, there in enumerate((lambda: people, street.people), 1):  # after a restart too
        node = there().find_node("node-0")
        held = node.budget.limits
        old, new = (street.message(one._replace(number=number)) for one in (street.plan, asked))
        assert (held.version, Fraction(*disk_limits.total_epsilon(held))) == (2, 2)
        assert node.answer(old, lambda params: (0, 0)) is None
        assert "epsilon" in node.refusal
        assert node.answer(new, lambda params: (0, 0)), node.refusal

    check_devices_fit(deployment, street.devices)
    with pytest.raises(OperatorFault, match="another price.* that it was last tightened to"):
        check_devices_fit(street.asks("3/1", 4), street.devices)


def test_who_was_never_tightened_is_told_what_it_was_enrolled_with(street: Street) -> None:
    """There is no other file to go back to."""
    with pytest.raises(OperatorFault, match="another price.* that it was enrolled with"):
        check_devices_fit(street.asks("2/1", 4), street.devices)


@pytest.mark.parametrize(
    ("epsilon", "readings", "words"),
    [
        ("1/1", 1, "a larger epsilon in one report"),
        ("15/4", 5, "a larger budget"),
        ("4/1", 8, "add up to more"),  # twice the answers, and less of a budget
    ],
)
def test_what_would_tell_more_is_not_even_sent(
    street: Street, heatveil: Callable[..., Any], epsilon: str, readings: int, words: str
) -> None:
    """A cheaper answer with the old budget would be a larger sum of epsilons."""
    street.asks(epsilon, readings)
    said = heatveil("tighten", "--config", street.config, "--patience", 0)
    sent = limitsfile.load_limits(
        config.load_deployment(street.config).site.devices, street.devices
    )

    assert "nothing was sent" in said.refusal
    assert words in said.err
    assert {one.limits for one in sent.values()} == {street.limits}


def test_what_the_ledger_would_refuse_is_not_even_sent(
    street: Street, heatveil: Callable[..., Any]
) -> None:
    """Devices never go back: neither the old file nor the new one could be asked under.

    Half of the epsilon for half of the answers is the same promise; for all of them another.
    """
    tighten = "tighten", "--config", street.config, "--patience", 0
    asked = sign_round(street.plan, 1, street.devices)
    with closing(Store.open_for(config.load_deployment(street.config))) as store:
        budget = 4 * compute_round_rho(street.plan.guarantee)
        assert store.open_round(asked._replace(planned=asked.name), budget) == ""

    deployment = street.asks("3/2", 4)
    said = heatveil(*tighten)
    sent = limitsfile.load_limits(deployment.site.devices, street.devices)
    assert "nothing was sent: the deployment promises something else" in said.refusal
    assert {one.limits for one in sent.values()} == {street.limits}

    street.asks("3/2", 2)
    assert "version 2 goes to" in heatveil(*tighten).success
    street.asks("3/2", 4)
    assert heatveil("ledger", "--config", street.config, "--end-promise", "--yes").status == 0
    assert "nothing was sent: a promise of this database was ended" in heatveil(*tighten).refusal


CAPS = [Fraction(3, 4), Fraction(1, 2), Fraction(2, 5), Fraction(1, 10), Fraction(16)]


@pytest.mark.parametrize("last", CAPS, ids=str)
@pytest.mark.parametrize("wished", CAPS, ids=str)
def test_a_device_takes_what_tells_less_however_it_is_written(
    last: Fraction, wished: Fraction
) -> None:
    """3/4 has the squares 9 and 16, and 1/2 has 1 and 4, which a device takes for less noise."""
    old = make_capped_limits(last, 4, 60)
    new, why = tighten_limits(old, make_capped_limits(wished, 4, 60)._replace(version=2))

    assert bool(why) == (wished > last)
    assert Fraction(*disk_limits.total_epsilon(new)) == 4 * wished
    if not why:
        assert not tightening.explain_loosening(old, new)
        assert not disk_limits.explain_loosening(old, new)


def test_the_budget_of_dearer_answers_is_too_much_for_cheaper_ones() -> None:
    """The device's own other rule finds no fault with it: nothing of it has grown."""
    old, half = make_capped_limits(Fraction(1), 4, 60), make_capped_limits(Fraction(1, 2), 4, 60)
    new, why = tighten_limits(old, half._replace(version=2, budget=old.budget))

    assert not tightening.explain_loosening(old, new)
    assert "add up to more" in why
