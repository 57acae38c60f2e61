"""Commands to the plugin: each names one client or one role, and none the gateway's."""

import pytest

from gateway.devices.broker import dynamic, orders
from gateway.devices.broker.rights import session_of


def test_no_password_goes_where_it_need_not() -> None:
    """It is in the one command that sets it; the session's mark does not tell it."""
    for made in (
        orders.create("lab", "attic", "sesame"),
        orders.password("lab", "attic", "sesame"),
    ):
        held = [one for one in made if "sesame" in str(one)]
        assert len(held) == 1
        assert held[0]["password"] == "sesame"
        marked = [one["clientid"] for one in made if "clientid" in one]
        assert marked == [session_of("lab", "attic", "sesame")]


def test_a_new_password_is_the_last_thing_that_is_said() -> None:
    """It ends the connection: whoever comes again must find the new session in force."""
    assert [one["command"] for one in orders.password("lab", "attic", "x")] == [
        "setClientId",
        "setClientPassword",
    ]


@pytest.mark.parametrize(
    "made",
    [
        orders.create("lab", "attic", "x"),
        orders.delete("attic"),
        orders.password("lab", "attic", "x"),
        orders.role("lab", "attic"),
        orders.disable("attic"),
        orders.enable("attic"),
    ],
)
def test_every_command_is_about_this_device_alone(made: list[orders.Command]) -> None:
    """By its name or by its role; a device that is shut out is marked as ours."""
    for one in made:
        named = {one.get("username", "attic"), one.get("rolename", dynamic.role_of("attic"))}
        assert named == {"attic", dynamic.role_of("attic")}
        assert "username" in one or "rolename" in one
    assert orders.MARK in str(orders.disable("attic"))
    assert orders.MARK not in str(orders.enable("attic"))
