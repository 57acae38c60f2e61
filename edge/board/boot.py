"""First on a board, before main.py: a template. Copy it to /boot.py.

No WebREPL and no network console is started here, nor anywhere else: whoever is on the network
could then ask the sensor directly.
"""

import gc

gc.enable()
if hasattr(gc, "threshold"):
    gc.threshold(2000)  # loading leaves the heap in pieces otherwise
try:
    import esp  # type: ignore[import-not-found]
except ImportError:
    pass
else:
    esp.osdebug(None)  # what the vendor's code prints is nobody's business
