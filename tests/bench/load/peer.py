"""What one would write instead: paho and sqlite3 over TLS, acknowledged after the commit.

Run by `bench_service.py` in the folder of a site whose gateway has run: it asks the same rounds
again, and keeps what comes. No check, no receipt, no round's end, no map, no page.
"""

import json
import queue
import resource
import sqlite3
import sys
import time
from pathlib import Path

SITE, MECHANISM = "lab", "thermal"


def main() -> None:
    """Store every payload; print what it took as JSON."""
    from paho.mqtt.client import Client, MQTTMessage
    from paho.mqtt.enums import CallbackAPIVersion

    asked = json.loads(sys.argv[1])
    with sqlite3.connect("file:heatveil.sqlite?mode=ro", uri=True) as gateway:
        rounds = gateway.execute("SELECT message FROM rounds ORDER BY number").fetchall()
    arrived: queue.SimpleQueue[MQTTMessage] = queue.SimpleQueue()
    client = Client(CallbackAPIVersion.VERSION2, "peer", clean_session=False, manual_ack=True)
    client.tls_set("broker/ca.pem")
    client.username_pw_set("gateway", Path("broker/gateway.password").read_text().strip())
    client.on_message = lambda _client, _data, message: arrived.put(message)
    client.on_connect = lambda *_: client.subscribe(f"heatveil/1/{SITE}/+/data", 1)
    client.connect("127.0.0.1", asked["port"])
    client.loop_start()
    store = sqlite3.connect("peer.sqlite")
    store.execute("PRAGMA journal_mode = WAL")
    store.execute("PRAGMA synchronous = FULL")
    store.execute("CREATE TABLE reports (topic TEXT, frame BLOB)")
    time.sleep(1)
    used = resource.getrusage(resource.RUSAGE_SELF)
    before, kept, until_s = used.ru_utime + used.ru_stime, 0, time.monotonic() + asked["seconds"]
    for (message,) in rounds:
        if time.monotonic() > until_s:
            break
        client.publish(f"heatveil/1/{SITE}/round/{MECHANISM}", message, 1)
        left = asked["devices"]
        while left and time.monotonic() < until_s + 30:
            try:
                batch = [arrived.get(timeout=1)]
            except queue.Empty:
                continue
            until_batch_s = time.monotonic() + 0.02
            while len(batch) < 500 and time.monotonic() < until_batch_s:
                try:
                    batch.append(arrived.get(timeout=0.005))
                except queue.Empty:
                    break
            rows = [(message.topic, message.payload) for message in batch]
            store.executemany("INSERT INTO reports VALUES (?, ?)", rows)
            store.commit()
            for one in batch:
                client.ack(one.mid, 1)
            left, kept = left - len(batch), kept + len(batch)
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"kept": kept, "cpu_s": used.ru_utime + used.ru_stime - before}), flush=True)
    client.loop_stop()


if __name__ == "__main__":
    main()
