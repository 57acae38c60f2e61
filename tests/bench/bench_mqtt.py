"""Time QoS 1: from `publish` to the broker's PUBACK, on loopback, one message after the other.

Run: python tests/bench/bench_mqtt.py [--publishes 2000]. Ours on CPython and on each MicroPython
that is here; beside it paho, and a packet in the five writes that boards' usual client makes of
it (first byte and length; length of the topic; topic; number; payload), written out here, on the
same broker. A frame of one reading has 45 bytes here, one of 64 readings 190. Ours and paho's are
the best of three runs each: what else the machine does shows in the slowest hundredth.
"""

import argparse
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOPIC = "heatveil/1/lab/n001/data"
SIZES = (45, 190)
BOARDS = (  # in heaps such as boards have
    ("unix MicroPython", "micropython", "heapsize=160k"),
    ("i386", "micropython-i386", "heapsize=80k"),
)
SLOW = 100  # publishes of who waits for delayed acknowledgements

# Each prints the median, the 99th and the 99.9th of a hundred, in microseconds.
TOLD = """
import time
def clock():
    return time.ticks_us() if hasattr(time, "ticks_us") else time.perf_counter_ns() // 1000
def since(begun):
    return time.ticks_diff(clock(), begun) if hasattr(time, "ticks_us") else clock() - begun
def told(spent):
    spent.sort()
    print(*[spent[len(spent) * k // 1000] for k in (500, 990, 999)])
"""
OURS = """
import asyncio
from edge.mqtt import Client
async def main():
    client = Client("127.0.0.1", {port}, "bench")
    running = asyncio.create_task(client.run())
    await client.publish("{topic}", b"first", 1)
    spent = []
    for number in range({publishes}):
        payload = b"%08d" % number + bytes({size} - 8)
        begun = clock()
        if not await client.publish("{topic}", payload, 1):
            raise OSError(client.trouble)
        spent.append(since(begun))
    told(spent)
    await client.stop()
    await running
asyncio.run(main())
"""
FIVE = """
import socket
sock = socket.socket()
sock.connect(socket.getaddrinfo("127.0.0.1", {port})[0][-1])
send = sock.write if hasattr(sock, "write") else sock.sendall
take = sock.read if hasattr(sock, "read") else sock.recv
send(b"\\x10\\x11\\0\\x04MQTT\\x04\\x02\\0\\x3c\\0\\x05bench")
take(4)
topic, spent = b"{topic}", []
for number in range({publishes}):
    payload, size = b"%08d" % number + bytes({size} - 8), 2 + len(b"{topic}") + 2 + {size}
    begun = clock()
    send(b"\\x32" + (bytes((size,)) if size < 128 else bytes((size & 127 | 128, size >> 7))))
    send(bytes((0, len(topic))))
    send(topic)
    send((number % 60000 + 1).to_bytes(2, "big"))
    send(payload)
    take(4)
    spent.append(since(begun))
told(spent)
"""
PAHO = """
import paho.mqtt.client as mqtt
client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, "bench")
client.connect("127.0.0.1", {port})
client.loop_start()
client.publish("{topic}", b"first", 1).wait_for_publish()
spent = []
for number in range({publishes}):
    payload = b"%08d" % number + bytes({size} - 8)
    begun = clock()
    client.publish("{topic}", payload, 1).wait_for_publish()
    spent.append(since(begun))
told(spent)
client.disconnect()
"""


def pythons() -> dict[str, list[str]]:
    """Return the command of each interpreter that is here."""
    found = {"CPython": [sys.executable, "-c"]}
    for name, program, heap in BOARDS:
        if path := shutil.which(program, path=f"{ROOT / '.tools'}:/usr/bin:/usr/local/bin"):
            found[name] = [path, "-X", heap, "-c"]
    return found


def measured(command: list[str], script: str, port: int, size: int, publishes: int) -> list[float]:
    """Return the three times of one client, in milliseconds."""
    source = TOLD + script.format(port=port, topic=TOPIC, size=size, publishes=publishes)
    ran = subprocess.run([*command, source], cwd=ROOT, capture_output=True, text=True, timeout=80)
    if ran.returncode:
        sys.exit(ran.stderr)
    return [int(word) / 1000 for word in ran.stdout.split()]


def main() -> None:
    """Print the table."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--publishes", type=int, default=2000)
    publishes = asked.parse_args().publishes
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder, "conf")
        rules.write_text(
            f"listener {port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n"
        )
        program = shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/usr/local/sbin")
        if program is None:
            sys.exit("mosquitto is not here and this measures against it: apt install mosquitto")
        broker = subprocess.Popen([program, "-c", rules], stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        print(f"{'client':28}{'bytes':>6}{'publishes':>10}{'p50, ms':>10}{'p99':>10}{'p99.9':>10}")
        try:
            for size in SIZES:
                for name, command in pythons().items():
                    rows = [("ours", OURS, publishes), ("five writes", FIVE, SLOW)]
                    if name == "CPython":
                        rows.insert(1, ("paho", PAHO, publishes))
                    for what, script, count in rows:
                        tries = 1 if script is FIVE else 3
                        runs = [measured(command, script, port, size, count) for _ in range(tries)]
                        told = min(runs, key=lambda run: run[1])
                        print(f"{what + ', ' + name:28}{size:6}{count:10}", end="")
                        print("".join(f"{ms:10.3f}" for ms in told), flush=True)
        finally:
            broker.terminate()
            broker.wait()


if __name__ == "__main__":
    main()
