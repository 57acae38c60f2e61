"""The service: runs the rounds over MQTT, keeps what came, shows the map."""

import os

# One thread, before numpy is there: matrices here are small, and threads that wait for each other
# make a large map of places take ten times the processor. Who has set something else meant it.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
