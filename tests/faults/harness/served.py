"""The gateway of a test, in a process of its own: `heatveil serve`, with defences switched off.

python served.py DEPLOYMENT.toml SWITCHES [ROUNDS]
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gateway.cli import serve
from gateway.faults import OperatorFault
from harness.switches import mend_sleep, switch

if __name__ == "__main__":
    mend_sleep()
    switch(sys.argv[2])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else None
    try:
        serve.run_gateway(Path(sys.argv[1]), rounds)
    except OperatorFault as fault:  # as `gateway.cli` leaves
        print("heatveil:", fault, file=sys.stderr)
        sys.exit(fault.status)
