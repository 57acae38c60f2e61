"""One worker of a site in a process of its own, until SIGTERM; prints what it used.

Run by `tests/bench/bench_workers.py`: `python tests/bench/load/worker.py '{...}'`.
"""

import json
import resource
import signal
import sys
import threading
from typing import Any


def deployment(asked: dict[str, Any]) -> Any:
    """Return the deployment that all workers of the bench are of."""
    import fleet

    from gateway.settings.deployment import Deployment

    return Deployment(
        site={"name": fleet.SITE},
        room={"cells": 24},
        heat={"spread_m2": 0.05},
        sensors={"count": asked["devices"]},
        privacy={"epsilon": "1/1", "delta": "1/100000"},
        mqtt={"port": asked["port"], "insecure": True},
        store={"postgresql": asked["postgresql"]},
        workers={"partitions": asked["partitions"], "lease_s": asked["lease_s"]},
    )


def main() -> None:
    """Work until told to stop."""
    import fleet

    from gateway import logs
    from gateway.service.operate.metrics import Metrics
    from gateway.service.workers.roll import unique_name
    from gateway.service.workers.worker import Worker
    from gateway.store.store import Store

    logs.to_stderr()
    asked: dict[str, Any] = json.loads(sys.argv[1])
    over, metrics = threading.Event(), Metrics()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    settings, known = deployment(asked), fleet.devices(asked["devices"])
    store = Store.of(settings)
    with Worker(settings, known, unique_name(), store, metrics=metrics):
        print("ready", flush=True)
        over.wait()
    store.close()
    used = resource.getrusage(resource.RUSAGE_SELF)
    found = {"cpu": used.ru_utime + used.ru_stime, "rss": used.ru_maxrss / 1e3}
    found["batches"] = metrics.batches._value.get()
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
