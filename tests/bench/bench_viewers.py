"""What many viewers cost the gateway: CPU of its process while each hears five maps a second.

    python tests/bench/bench_viewers.py [viewers] [seconds]

The viewers are sockets of another process that read whatever comes; everything is on loopback.
"""

import json
import multiprocessing
import selectors
import socket
import sys
import time
from typing import Any

HZ = 5
GOAL = 0.05  # of a core, for 200 viewers


def look(port: int, viewers: int, ready: Any, over: Any, said: Any) -> None:
    """Be so many viewers until told to stop; say how many events came and how late they were."""
    chooser = selectors.DefaultSelector()
    for _ in range(viewers):
        link = socket.create_connection(("127.0.0.1", port))
        link.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        link.setblocking(False)
        chooser.register(link, selectors.EVENT_READ)
    came, late_s = 0, []
    ready.set()
    while not over.is_set():
        for key, _ in chooser.select(0.1):
            got = key.fileobj.recv(1 << 20)  # type: ignore[union-attr]
            came += got.count(b"event: map")
            if (at := got.rfind(b'"put_s":')) >= 0:
                put_s = float(got[at + 8 :].split(b"}")[0].split(b",")[0])
                late_s.append(time.time() - put_s)
    said.put((came, sorted(late_s)))


def main(viewers: int, seconds: float) -> None:
    """Print the CPU and the lateness."""
    from gateway.web.server import Page

    drawn = {"kind": "map", "number": 1, "mass": [[0.0125] * 80], "status": "solved"}
    many = multiprocessing.get_context("spawn")
    ready, over, said = many.Event(), many.Event(), many.Queue()
    with Page("127.0.0.1", 0) as page:
        port = int(page.url.rstrip("/").rsplit(":")[-1])
        crowd = many.Process(target=look, args=(port, viewers, ready, over, said), daemon=True)
        crowd.start()
        ready.wait(30)
        time.sleep(1)
        cpu_s, began_s = time.process_time(), time.monotonic()
        for number in range(int(HZ * seconds)):
            page.feed.put({**drawn, "number": number, "put_s": time.time()})
            time.sleep(max(began_s + (number + 1) / HZ - time.monotonic(), 0))
        cpu_s, took_s = time.process_time() - cpu_s, time.monotonic() - began_s
        over.set()
        came, late_s = said.get(timeout=10)
        crowd.join(10)
    share = cpu_s / took_s
    found = {
        "viewers": viewers,
        "hz": HZ,
        "event_bytes": len(json.dumps(drawn)),
        "cpu_of_a_core": round(share, 4),
        "us_an_event": round(1e6 * cpu_s / max(came, 1), 1),
        "came": came,
        "sent": int(HZ * seconds) * viewers,
        "late_ms_p50": round(1e3 * late_s[len(late_s) // 2], 1),
        "late_ms_p99": round(1e3 * late_s[int(0.99 * len(late_s))], 1),
        "within_goal": share <= GOAL,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    arguments = [float(word) for word in sys.argv[1:]]
    main(int(arguments[0]) if arguments else 200, arguments[1] if arguments[1:] else 10.0)
