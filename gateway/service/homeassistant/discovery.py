"""What Home Assistant is told to show: one message, one device, the site.

One retained message describes the gateway and everything that can be seen of it. Its values come
over two topics of the site's own, so that a change of health does not make an old result look
new. There is nothing in it of any one thermometer: when one speaks shows when somebody is there.

Source: home-assistant.io, MQTT discovery, "device discovery payload" (since 2024.11).
"""

import math
from importlib.metadata import version
from typing import Any

from physics.places import is_plane

from ...mechanisms import of
from ...settings.deployment import Deployment

Message = dict[str, Any]

_PERCENT: Message = {"unit_of_measurement": "%", "suggested_display_precision": 0}
_RULER = "mdi:ruler"

ONLINE, OFFLINE = b"online", b"offline"
BIRTH_PREFIX = "homeassistant"  # where it says that it is back, unless it was told otherwise


def config_topic(deployment: Deployment) -> str:
    """Return where the announcement goes."""
    return f"{deployment.homeassistant.prefix}/device/{_id(deployment)}/config"


def result_topic(site: str) -> str:
    """Return where results go."""
    return f"heatveil/1/{site}/ha/state"


def health_topic(site: str) -> str:
    """Return where the gateway's health goes."""
    return f"heatveil/1/{site}/ha/health"


def availability_topic(site: str) -> str:
    """Return where it stands whether there is a gateway at all."""
    return f"heatveil/1/{site}/ha/availability"


def births(prefix: str) -> tuple[str, ...]:
    """Return the topics on which Home Assistant says that it is back.

    Another prefix for announcements does not move its greeting, unless somebody moved that too.
    """
    return tuple(dict.fromkeys([f"{prefix}/status", f"{BIRTH_PREFIX}/status"]))


def message(deployment: Deployment) -> Message:
    """Return the announcement of a deployment."""
    own, site = _id(deployment), deployment.site.name
    components = _results(deployment) | _workings(of(deployment).words.who_answers)
    for key, component in components.items():
        component["unique_id"] = f"{own}_{key}"
    return {
        "device": {
            "identifiers": [own],
            "name": f"heatveil {site}",
            "manufacturer": "heatveil",
            "model": "gateway",
            "sw_version": version("heatveil"),
        },
        "origin": {"name": "heatveil", "sw_version": version("heatveil")},
        "state_topic": result_topic(site),
        "availability_topic": availability_topic(site),
        "qos": 1,
        "components": components | {"problem": _problem(own, site)},
    }


def _results(deployment: Deployment) -> dict[str, Message]:
    """Return what a map says; unavailable once it is older than the operator wants to see."""
    expiry: Message = {}
    if deployment.homeassistant.expire_s is not None:
        expiry["expire_after"] = math.ceil(deployment.homeassistant.expire_s)
    length: Message = {"suggested_display_precision": 2}
    if deployment.room.cell_mm:
        length |= {"unit_of_measurement": "m", "device_class": "distance"}
    mechanism = of(deployment)
    place, share, icon = mechanism.words.announced
    found = {"x": _sensor(f"{place}, x", "x", icon="mdi:arrow-left-right", **length)}
    if is_plane(deployment.room.grid):
        found["y"] = _sensor(f"{place}, y", "y", icon="mdi:arrow-up-down", **length)
    found["share"] = _sensor(share, "share", icon=icon, **_PERCENT)
    found |= _sure(mechanism.words.has_sd, length)
    return {key: component | expiry for key, component in found.items()}


def _sure(counted: bool, length: Message) -> dict[str, Message]:
    """Return what a map says of how sure it is; counted: as `has_sd` of a mechanism."""
    if counted:
        more = {**_PERCENT, "suggested_display_precision": 1}
        more["value_template"] = "{{ value_json.sd | default(none) }}"  # till there is a map
        return {"sd": _sensor("Standard deviation of that share", "sd", icon=_RULER, **more)}
    return {
        "sources": _sensor("Likely warm sources", "sources", icon="mdi:account-multiple"),
        "error": _sensor("Expected error of the map", "error", icon=_RULER, **length),
        "contradicted": _sensor(
            "Map contradicts its settings",
            "contradicted",
            platform="binary_sensor",
            device_class="problem",
            state_class=None,
        ),
    }


def _workings(answered: str) -> dict[str, Message]:
    """Return what rounds say of themselves."""
    seconds = {"unit_of_measurement": "s", "device_class": "duration"}
    found = {
        "round": _sensor("Round", "round", state_class=None, icon="mdi:counter"),
        "sensors": _sensor(f"{answered} that answered", "sensors", icon="mdi:thermometer-check"),
        "rounds_left": _sensor("Rounds left in the budget", "rounds_left", icon="mdi:wallet"),
        "lag": _sensor("From the question to the map", "lag", **seconds),
        "drawn": _sensor("Map drawn", "drawn", state_class=None, device_class="timestamp"),
    }
    return {key: component | {"entity_category": "diagnostic"} for key, component in found.items()}


def _sensor(name: str, key: str, **more: Any) -> Message:
    """Return a number to show; what is null in the state is "unknown" there."""
    component = {
        "platform": "sensor",
        "name": name,
        "value_template": f"{{{{ value_json.{key} }}}}",
        "state_class": "measurement",
    }
    return {key: value for key, value in (component | more).items() if value is not None}


def _problem(own: str, site: str) -> Message:
    """Return whether the gateway works, and as attributes which of its parts do not."""
    return {
        "platform": "binary_sensor",
        "name": "Gateway",
        "state_topic": health_topic(site),
        "value_template": "{{ value_json.problem }}",
        "json_attributes_topic": health_topic(site),
        "json_attributes_template": "{{ value_json.parts | tojson }}",
        "device_class": "problem",
        "entity_category": "diagnostic",
        "unique_id": f"{own}_problem",
    }


def _id(deployment: Deployment) -> str:
    return f"heatveil_{deployment.site.name}"
