"""amqtt in this process: the broker of a demonstration on a machine that has no mosquitto.

It lives on an event loop of its own, in a thread of its own.
"""

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ...faults import OperatorFault

START_S = 10.0
CLOSE_S = 2.0


@contextmanager
def amqtt(host: str, port: int) -> Iterator[None]:
    """Run amqtt on this address for as long as the block lasts.

    Raises:
        OperatorFault: amqtt is not installed.
    """
    try:
        from amqtt.broker import Broker  # a second to import, and only needed here
    except ImportError as fault:
        raise OperatorFault(
            "there is neither mosquitto nor amqtt on this machine, and the messages between "
            "sensors and gateway need a broker. Install one: apt install mosquitto, or "
            "pip install 'heatveil[demo]'"
        ) from fault
    for noisy in ("amqtt", "transitions"):
        logging.getLogger(noisy).setLevel(logging.CRITICAL)
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(_complain)
    thread = threading.Thread(target=loop.run_forever, name="amqtt", daemon=True)
    thread.start()
    plugins = {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}}
    listeners = {"default": {"type": "tcp", "bind": f"{host}:{port}"}}

    async def start() -> Broker:
        broker = Broker({"listeners": listeners, "plugins": plugins})
        await broker.start()
        return broker

    try:
        broker = asyncio.run_coroutine_threadsafe(start(), loop).result(START_S)
        try:
            yield
        finally:
            asyncio.run_coroutine_threadsafe(_end(broker), loop).result(START_S)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(START_S)
        loop.close()


def _complain(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what went wrong, but for a client that is gone already.

    amqtt refuses MQTT 5 and then closes a socket that the client may have closed before it.
    """
    if not isinstance(context.get("exception"), OSError):
        loop.default_exception_handler(context)


async def _end(broker: Any) -> None:
    """Shut amqtt down, and close what its shutdown leaves open or waits for in vain.

    It never ends while a client is connected, and where one is just leaving it forgets the
    socket, whose complaint would then come from wherever Python next collects its garbage.
    """
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda *_: None)  # clients cut off are no news now
    with suppress(TimeoutError):
        await asyncio.wait_for(broker.shutdown(), CLOSE_S)
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=CLOSE_S)
    for transport in list(getattr(loop, "_transports", {}).values()):
        transport.abort()
    await asyncio.sleep(0)  # abort closes the sockets in the loop's next turn
