"""A promise for a window of hours: what a deployment may ask for, and what devices are given."""

import math
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

import pytest

from edge.core.budget import unpack
from edge.core.window import Hours, step_of
from edge.host.enrol import Ram, provision
from gateway.cli import check
from gateway.cli.records import ledger
from gateway.devices.enrol.check import check_budget_window
from gateway.faults import OperatorFault
from gateway.mechanisms import find_mechanism
from gateway.service.ledger import (
    Charge,
    Ledger,
    compute_budget_rho,
    compute_round_rho,
    find_counted_s,
    make_terms,
)
from gateway.service.operate.schedule import parse_hours
from gateway.settings import config, windows
from gateway.settings.deployment import Deployment
from recovery import thermal


def deployment(**tables: Any) -> Deployment:
    given: dict[str, Any] = {
        "room": {"cells": 12},
        "heat": {"spread_m2": 0.05},
        "sensors": {"count": 4},
        "privacy": {"epsilon": "8/1", "delta": "1/100000", "readings": 26, "window_h": 24},
        "rounds": {"every_s": 3600},
    }
    for name, table in tables.items():
        given[name] = given.get(name, {}) | table
    return Deployment(**given)


@pytest.mark.parametrize(
    ("tables", "why"),
    [
        ({"privacy": {"readings": 24}}, "Set readings = 26, or [rounds] every_s = 3826"),
        ({"privacy": {"window_h": 1}, "rounds": {"every_s": 7200}}, "Set window_h to 2 or more"),
        ({"rounds": {"every_s": 0}}, "Set [rounds] every_s = 3531"),
        pytest.param(
            {"sensors": {"background": "following", "slew": "1/1000"}},
            'Set background = "recorded"',
            id="following",
        ),
        pytest.param({"room": {"plan": "small.toml"}}, "in a room with a file", id="file"),
        ({"privacy": {"window_h": 9000}}, "8784"),
    ],
)
def test_what_cannot_be_kept_for_ever_is_refused_with_what_can(
    tables: dict[str, Any], why: str
) -> None:
    """A window shorter than a round, too few readings, and what carries warmth into the next."""
    with pytest.raises(ValueError, match=re.escape(why)):
        deployment(**tables)


def test_what_can_just_be_kept_is_planned() -> None:
    """A round a window, and what is stored for as long as answers count: 25.5 hours of 24.

    Of ten rounds a day the last 14 reach back over two nights.
    """
    assert deployment(privacy={"window_h": 1}).privacy.window_h == 1
    assert deployment(store={"keep_days": 1.0625}).kept_days[0] == 1.0625
    with pytest.raises(ValueError, match="Keep for longer"):
        deployment(store={"keep_days": 1.0624})
    days = {"rounds": {"hours": "08:00-18:00"}, "privacy": {"readings": 14}}
    assert deployment(**days, store={"keep_days": 2}).kept_days[0] == 2
    with pytest.raises(ValueError, match="Keep for longer"):
        deployment(**days, store={"keep_days": 1.7})
    with pytest.raises(ValueError, match="than the 4.125 days"):  # the last 100, hour by hour
        deployment(privacy={"readings": 100}, store={"keep_days": 4})
    rare = {"rounds": {"every_s": 2 * 86_400, "hours": "08:00-18:00"}}
    seldom = {"privacy": {"window_h": 168, "readings": 5}}
    with pytest.raises(ValueError, match="than the 8 days"):  # a day without one in between
        deployment(**rare, **seldom, store={"keep_days": 7.5})


@pytest.mark.parametrize("of", ["thermal", "disk"])
def test_more_readings_than_a_window_holds_are_told_with_what_they_cost(of: str) -> None:
    """They blur each reading for ever and buy nothing; the number told is the least taken."""

    def plan(readings: int) -> list[str]:
        """Return what `check` notes of the promise."""
        own = {"privacy": {"readings": readings}, "rounds": {"every_s": 14_400}}
        site = deployment(**own) if of == "thermal" else asked_of("disk", **own)
        found = check._judge_settings(site, config.make_query(site))
        return [one.sentence for one in found if "readings =" in one.sentence]

    (said,) = plan(40)
    with pytest.raises(ValueError, match="Set readings = 7"):
        plan(6)

    fewer, given = map(float, re.findall(r"(?:sigma|epsilon) ([\d.]+)", said))
    assert "never pays for more than 7:" in said
    assert plan(7) == []
    assert given / fewer == pytest.approx((40 / 7) ** 0.5 if of == "thermal" else 7 / 40, rel=0.01)


def asked_of(
    mechanism: str,
    privacy: Any = MappingProxyType({}),
    rounds: Any = MappingProxyType({}),
    **own: Any,
) -> Deployment:
    return Deployment(
        room={"cells": [4, 4]},
        privacy={"epsilon": "26/1", "readings": 26, "window_h": 24} | privacy,
        rounds={"mechanism": mechanism} | rounds,
        **{mechanism: {"devices": 100, **own}},
    )


@pytest.mark.parametrize("mechanism", ["disk", "ranks", "pyramid", "pyramid_sum"])
def test_places_may_be_promised_for_a_window(mechanism: str) -> None:
    """Whoever draws the noise, each device counts its answers; rounds go on at one price."""
    query = config.make_query(asked_of(mechanism))
    first, later = (find_mechanism(mechanism).plan(query, [None] * done) for done in (0, 1000))

    assert later == first._replace(number=1001)
    assert first.guarantee.unit.startswith("any 24 hours (k times as long costs k times epsilon)")
    assert "a receiver told last" in first.guarantee.unprotected


def test_what_is_spent_of_a_window_of_secure_sums_comes_back() -> None:
    """Nobody is told of a last map, or that nothing more is asked, where rounds go on for ever."""
    site = asked_of("pyramid_sum")
    plan = config.make_query(site)
    first = find_mechanism("pyramid_sum").plan(plan, [])
    rho = compute_round_rho(first.guarantee)
    whole = compute_budget_rho(first.guarantee, site.privacy.readings)
    some, all_of_it = (
        ledger._describe_ledger(
            site, Ledger(whole, (Charge(rho),) * count), rho, ledger.Charged(first, whole)
        )[0]
        for count in (1, 26)
    )

    assert "25 more can be paid for" in some
    assert "comes back" in all_of_it
    assert any("any 24 h" in finding.sentence for finding in check._judge_settings(site, plan))


def test_rounds_that_go_on_from_one_another_have_no_window() -> None:
    """Each is planned by the answers before it, and all of them share one epsilon."""
    with pytest.raises(ValueError, match="window_h is given and the mechanism is quadtree"):
        asked_of("quadtree", adjacency="replace-one")


@pytest.mark.parametrize("hours", [1, 24, 168])
@pytest.mark.parametrize("every_s", [60, 900, 3600])
def test_a_cadence_that_is_planned_is_paid_for_and_one_more_answer_would_not_be(
    hours: int, every_s: int
) -> None:
    """Of a clock that is right: the 25 buckets hold no more answers than that."""
    count = windows.count_answers(hours, every_s)
    step_s = step_of(3600 * hours)
    most = max(
        sum(at <= every_s * n < at + 25 * step_s for n in range(20_000))
        for at in (0, every_s - 1, every_s // 2)
    )

    assert count >= most >= count - 1
    assert windows.count_answers(hours, windows.find_least_every_s(hours, count)) <= count


@pytest.mark.parametrize("open_from", ["08:00-18:00", "22:00-06:30", "12:00-12:30", "01:00-04:00"])
@pytest.mark.parametrize("window_h", [8, 24, 36, 168])
def test_hours_count_what_they_let_open_and_never_less(window_h: int, open_from: str) -> None:
    """A round as soon as hours and cadence let it, whenever a window begins: none goes unpaid.

    Nor where the clock on the wall goes from two to three in a night, or from three to two.
    """
    hours, span_s = parse_hours(open_from), windows.bound_span_s(window_h)
    length_s = 60 * sum(hours.contains(NOON + timedelta(minutes=at)) for at in range(1440))
    turns = [(0, 0)]
    for day in {0, 1, span_s // 86_400, span_s // 86_400 + 1}:
        for at_h, turn_s in ((2, 3600), (3, -3600)):
            turns.append((86_400 * day + 3600 * (at_h - hours.first.hour), turn_s))
    for every_s in (900, 3600, 5000, 14_400):
        most = max(
            count_open(length_s, every_s, (begins_s, begins_s + span_s), *turn)
            for begins_s in range(0, length_s, 450)
            for turn in turns
        )
        count = windows.count_answers(window_h, every_s, open_from)
        least_s = windows.find_least_every_s(window_h, count, open_from)

        assert most <= count <= windows.count_answers(window_h, every_s)
        assert count <= most + 2 + math.ceil(3600 / every_s)
        assert windows.count_answers(window_h, least_s, open_from) <= count
        assert windows.count_answers(window_h, least_s - 1, open_from) > count


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def count_open(length_s: int, every_s: int, span_s: tuple[int, int], at: int, turn_s: int) -> int:
    """Return how many rounds open in a span, of seconds since an opening.

    Args:
        length_s: for how long they open after it, and each day.
        at: when the clock on the wall is set, by `turn_s`.
    """
    now_s, until_s = span_s
    opened = 0
    while now_s <= until_s:
        day_s = (now_s + (turn_s if now_s >= at else 0)) % 86_400
        if day_s < length_s:
            opened, now_s = opened + 1, now_s + every_s
        else:
            opens_s = now_s + 86_400 - day_s
            now_s = at if now_s < at < opens_s else opens_s
    return opened


def test_a_site_that_is_open_by_day_shares_its_promise_among_fewer() -> None:
    """Ten hours a day let fourteen rounds open while devices count one: no room for twenty-six.

    On the day in spring that is; on others thirteen.
    """
    hours = {"hours": "08:00-18:00"}

    def check_readings(readings: int) -> list[str]:
        """Return what `check` notes of them."""
        site = deployment(privacy={"readings": readings}, rounds=hours)
        found = check._judge_settings(site, config.make_query(site))
        return [one.sentence for one in found if "readings =" in one.sentence]

    (idle,) = check_readings(26)
    assert "from 08:00 to 18:00 a window of 24 h never pays for more than 14" in idle
    assert check_readings(14) == []
    with pytest.raises(
        ValueError, match="08:00 to 18:00 they would .* Set readings = 14, or "
    ) as it:
        deployment(privacy={"readings": 13}, rounds=hours)
    least_s = int(str(it.value).split("every_s = ")[1].split()[0])
    assert deployment(privacy={"readings": 13}, rounds={**hours, "every_s": least_s})
    with pytest.raises(ValueError, match="Set readings = 14, or "):
        deployment(privacy={"readings": 13}, rounds={**hours, "every_s": least_s - 1})


def test_a_promise_for_a_window_says_so_and_is_another_promise() -> None:
    """It is in every Round and on every map, and no ledger adds it to one for a life."""
    query = config.make_query(deployment())
    promised = thermal.plan(query, []).guarantee
    hour, whole = (thermal.plan(replace(query, window_h=hours), []).guarantee for hours in (1, 0))

    assert promised.unit == (
        "any 24 hours (k times as long costs k times rho), 26 readings of every sensor together"
    )
    assert whole.unit == "the window of 26 readings of every sensor together"
    for one in (promised, hour):
        assert "warmth that lingers from before" in one.unprotected
    assert "lingers" not in whole.unprotected
    assert make_terms(promised) != make_terms(whole)
    assert find_counted_s(make_terms(promised)) == 25 * step_of(86_400)
    assert find_counted_s(make_terms(whole)) is None


def test_what_is_kept_has_an_end_where_rounds_have_none() -> None:
    """Reports for a month, releases and maps for a year; and never less than maps are drawn of."""
    assert deployment().kept_days == (30, 365)
    assert deployment(store={"keep_days": 7}).kept_days == (7, 7)
    assert deployment(privacy={"window_h": 0}).kept_days == (None, None)
    assert deployment(privacy={"window_h": 0}, store={"keep_days": 9}).kept_days == (9, 9)
    said = check.describe_retention(deployment())
    again = "releases, with the same blurred readings,"  # which go with the maps, or not at all
    assert f"blurred or sealed reports 30 days; {again} and maps 365 days;" in said
    store = {"report_days": 1, "keep_days": 2}
    said = check.describe_retention(deployment(privacy={"window_h": 0}, store=store))
    assert f"blurred or sealed reports 1 day; {again} for ever; maps 2 days;" in said
    with pytest.raises(ValueError, match="Keep for longer"):
        deployment(store={"keep_days": 1})


def test_a_device_is_given_the_window_and_what_was_spent_of_it() -> None:
    """A new key within a window is no new budget."""
    from gateway.mechanisms.thermal.granting import make_first_limits

    told = deployment()
    limits = make_first_limits(config.make_query(told), 3600)
    slots, key = Ram(), bytes(32)
    provision(slots, key, bytes(32), limits, windows.make_window_record(told, limits, spent=True))
    record = unpack(slots.read(0), key)

    assert len(record.window) == 137
    held = Hours(record.window, None)
    assert (held.length_s, held.spent, held.counted_s) == (86_400, limits.budget, 0)
    assert windows.make_window_record(deployment(privacy={"window_h": 0}), limits) == b""
    assert Hours(windows.make_window_record(told, limits), None).spent == 0
    with pytest.raises(OperatorFault, match="Ask for a smaller epsilon"):
        windows.make_window_record(told, limits._replace(budget=1 << 40))


def test_devices_of_another_window_are_refused() -> None:
    """They would be silent sooner, or give more than is said."""
    check_budget_window(24, {"n1": 24})
    for other in (0, 12):
        with pytest.raises(OperatorFault, match="enrolled with a budget for any 24 h"):
            check_budget_window(other, {"n1": 24})


def test_no_window_is_promised_of_devices_of_which_nobody_knows_theirs() -> None:
    """One that was enrolled for fewer hours gives more than is said; for life all is as before."""
    check_budget_window(0, {"n1": None})
    with pytest.raises(OperatorFault, match="window of n1's budget is not known"):
        check_budget_window(24, {"n1": None})
