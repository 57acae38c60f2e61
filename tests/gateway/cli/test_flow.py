"""The first day as it is typed: enrol, broker init, mosquitto, fleet, serve, over TLS."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from edge.core import wire
from gateway.devices.broker import dynamic
from gateway.devices.broker.embedded import find_free_port
from gateway.devices.enrol import enrol
from gateway.faults import LinkFault
from gateway.service.mqtt import access
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.settings import config
from gateway.store.store import Store
from tests import processes

MAIN = [sys.executable, "-c", "from gateway.cli import main; main()"]


@contextmanager
def running(*words: object, awaits: str = "") -> Iterator[subprocess.Popen[str]]:
    """Run a program until the block ends; it is ready when it has said `awaits`."""
    command = [str(word) for word in words]
    with processes.Child(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as child:
        try:
            while awaits and child.stdout is not None and child.poll() is None:
                if awaits in child.stdout.readline():
                    break
            yield child
        finally:
            child.send_signal(signal.SIGTERM)
            try:
                child.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                child.kill()
                raise


@pytest.mark.long
@pytest.mark.parametrize("plain", [False, True], ids=["dynamic", "plain"])
def test_the_first_day_and_a_device_that_floods(
    need: Callable[[str], str],
    answers: Callable[[int], None],
    heatveil: Callable[..., Any],
    tmp_path: Path,
    plain: bool,
) -> None:
    """All devices answer; then one floods, is shut out where the broker can, and is let back."""
    if not plain and dynamic.find_plugin() is None:
        pytest.skip("mosquitto has no dynamic security here; Debian's package has")
    program, path, port = need("mosquitto"), tmp_path / "gateway.toml", find_free_port()
    text = config.sample().replace("port = 8883", f"port = {port}")
    text = text.replace("port = 8080", f"port = {find_free_port()}").replace(
        "count = 50 ", "count = 4 "
    )
    path.write_text(text)
    assert heatveil("enrol", "--config", path).status == 0
    words = ["--plain"] if plain else []
    assert heatveil("broker", "init", "--config", path, *words).status == 0
    secrets = enrol.load_secrets(tmp_path / "secrets.json", "lab")
    store_path = tmp_path / "heatveil.sqlite"

    def eventually(true: Callable[[Store], Any], patience_s: float) -> bool:
        until_s = time.monotonic() + patience_s
        while time.monotonic() < until_s:
            if store_path.exists():
                with closing(Store(store_path, "lab")) as store:
                    if true(store):
                        return True
            time.sleep(0.2)
        return False

    with running(program, "-c", tmp_path / "broker" / "mosquitto.conf"):
        answers(port)
        with (
            running(*MAIN, "fleet", "--config", path, awaits="devices are on the broker"),
            running(*MAIN, "serve", "--config", path, awaits="live page"),
        ):
            assert eventually(lambda store: len(store.newest()) == 4, 40)
        with (
            running(*MAIN, "serve", "--config", path, awaits="live page"),
            Pump("thief") as pump,
        ):
            who, link_key = secrets.devices[1]
            own = access.as_device(config.load(path).mqtt, who.name, link_key.hex())
            session = f"heatveil-lab-{who.name}"
            thief = Link(own, session, pump).wait()
            topic = wire.topic("lab", who.name, "data")
            for _ in range(60):
                thief.publish(topic, b"no frame of mine, but a long one all the same")
            assert eventually(lambda store: who.name in store.quarantined(), 20)
            thief.close()
            again = Link(own, session, pump)
            if plain:  # it is let in, and not listened to
                again.wait().close()
            else:
                with pytest.raises(LinkFault):
                    again.wait()
            freed = heatveil("device", "free", who.name, "--config", path)
            assert freed.status == 0
            assert "is let back" in freed.out
            assert eventually(lambda store: not store.quarantined(), 5)
            Link(own, session, pump).wait().close()
