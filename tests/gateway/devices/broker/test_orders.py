"""Commands to the plugin: each names one client or one role, and none the gateway's."""

import pytest

from gateway.devices.broker import dynamic
from gateway.devices.broker.mosquitto import derive_session


def test_no_password_goes_where_it_need_not() -> None:
    """It is in the one command that sets it; the session's mark does not tell it."""
    for made in (
        dynamic.compose_create("lab", "attic", "sesame"),
        dynamic.compose_password("lab", "attic", "sesame"),
    ):
        held = [one for one in made if "sesame" in str(one)]
        assert len(held) == 1
        assert held[0]["password"] == "sesame"
        marked = [one["clientid"] for one in made if "clientid" in one]
        assert marked == [derive_session("lab", "attic", "sesame")]


def test_a_new_password_is_the_last_thing_that_is_said() -> None:
    """It ends the connection: whoever comes again must find the new session in force."""
    assert [one["command"] for one in dynamic.compose_password("lab", "attic", "x")] == [
        "setClientId",
        "setClientPassword",
    ]


@pytest.mark.parametrize(
    "made",
    [
        dynamic.compose_create("lab", "attic", "x"),
        dynamic.compose_delete("attic"),
        dynamic.compose_password("lab", "attic", "x"),
        dynamic.compose_role("lab", "attic"),
        dynamic.compose_disable("attic"),
        dynamic.compose_enable("attic"),
    ],
)
def test_every_command_is_about_this_device_alone(made: list[dynamic.Command]) -> None:
    """By its name or by its role; a device that is shut out is marked as ours."""
    for one in made:
        named = {one.get("username", "attic"), one.get("rolename", dynamic.name_role("attic"))}
        assert named == {"attic", dynamic.name_role("attic")}
        assert "username" in one or "rolename" in one
    assert dynamic.MARK in str(dynamic.compose_disable("attic"))
    assert dynamic.MARK not in str(dynamic.compose_enable("attic"))
