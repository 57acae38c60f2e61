"""What one would write instead: paho and sqlite3, acknowledged after the commit, no checks."""

import json
import queue
import resource
import sqlite3
import sys
import time


def main() -> None:
    """Store every payload; print what it took as JSON."""
    from array import array

    import fleet
    from paho.mqtt.client import Client, MQTTMessage
    from paho.mqtt.enums import CallbackAPIVersion
    from progress import Progress, memory

    from edge.core import wire
    from edge.host import post

    asked = json.loads(sys.argv[1])
    arrived: queue.SimpleQueue[MQTTMessage] = queue.SimpleQueue()
    client = Client(CallbackAPIVersion.VERSION2, "peer", clean_session=False, manual_ack=True)
    client.on_message = lambda _client, _data, message: arrived.put(message)
    client.on_connect = lambda *_: client.subscribe(f"heatveil/1/{fleet.SITE}/+/data", 1)
    client.connect("127.0.0.1", asked["port"])
    client.loop_start()
    store = sqlite3.connect(asked["store"])
    store.execute("PRAGMA journal_mode = WAL")
    store.execute("PRAGMA synchronous = FULL")
    store.execute("CREATE TABLE reports (topic TEXT, frame BLOB)")
    time.sleep(0.5)
    print("ready", flush=True)
    sys.stdin.readline()
    used = resource.getrusage(resource.RUSAGE_SELF)
    before, began_s = used.ru_utime + used.ru_stime, time.monotonic()
    batches, kept, topic = 0, 0, wire.round_topic(fleet.SITE, "thermal")
    progress, early = Progress("committed", asked["rounds"] * asked["devices"]), 0.0
    file = open(asked["out"], "wb")  # noqa: SIM115
    for number in range(fleet.START, fleet.START + asked["rounds"]):
        client.publish(topic, post.pack_round(fleet.plan(number), bytes(32), topic), 1)
        left = asked["devices"]
        while left and time.monotonic() - began_s < asked["seconds"]:
            try:
                batch = [arrived.get(timeout=1)]
            except queue.Empty:
                continue
            until_s = time.monotonic() + 0.02
            while len(batch) < 500 and time.monotonic() < until_s:
                try:
                    batch.append(arrived.get(timeout=0.005))
                except queue.Empty:
                    break
            rows = [(message.topic, message.payload) for message in batch]
            store.executemany("INSERT INTO reports VALUES (?, ?)", rows)
            store.commit()
            for message in batch:
                client.ack(message.mid, 1)
            left, batches, now_s = left - len(batch), batches + 1, time.monotonic()
            devices = [int(topic.split("/")[3][5:]) for topic, _ in rows]
            array("d", [one for device in devices for one in (device, number, now_s)]).tofile(file)
            kept += len(rows)
            progress.at(kept)
        early = early or memory()["VmRSS"]
    used, held = resource.getrusage(resource.RUSAGE_SELF), memory()
    file.close()
    found = {"kept": kept, "received": kept, "version": "3.1.1", "refused": {}}
    found |= {"seconds": time.monotonic() - began_s, "batches": batches}
    found |= {"rss": held["VmRSS"], "most": held["VmHWM"], "early": early}
    print(json.dumps(found | {"cpu": used.ru_utime + used.ru_stime - before}), flush=True)
    client.loop_stop()


if __name__ == "__main__":
    main()
