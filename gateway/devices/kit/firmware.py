"""What a board's firmware has and a MicroPython for PCs has not, for a stand-in: as text.

Pins that go nowhere, a Wi-Fi that is joined at once (the PC's own network), a clock that is
right, and sensors that always say 25 degrees: a DS18B20 or a TMP36 on any pin, a TMP117 on any
I2C; on any serial line a receiver that is always at the Brandenburg Gate. So a whole device can be
lived through on a desk. What it sends is as blurred as any board's.
"""

# How the program is started that lives in the folder: its flash is the root of all paths, as on a
# board. A reset ends it with status 0, and then it starts again; a fault ends it for good.
START = """
import os, sys
os.umount("/")
os.mount(os.VfsPosix(%r), "/")
os.chdir("/")
sys.path[:] = ["/", ".frozen"]
for name in ("boot.py", "main.py"):
    if name in os.listdir("/"):
        with open(name) as file:
            text = file.read()
        exec(text, {"__name__": "__main__"})
"""

MACHINE = """# a stand-in's; no board has this file
import time


def unique_id():
    return %r


def reset():
    raise SystemExit


def deepsleep(ms):
    time.sleep_ms(ms)
    raise SystemExit


class Pin:
    IN, OUT = 0, 1

    def __init__(self, name, mode=0):
        pass

    def value(self, level=None):
        return 0


class ADC:
    def __init__(self, pin):
        pass

    def read_u16(self):
        return 14895


class UART:
    said = b"$GPGGA,120000.00,5230.97800,N,01322.66200,E,1,08,1.0,40.0,M,45.0,M,,*51\\r\\n"

    def __init__(self, number=1, baudrate=9600, tx=None, rx=None, timeout=0, rxbuf=256):
        self._last = time.ticks_add(time.ticks_ms(), -1000)

    def readinto(self, buffer):
        if time.ticks_diff(time.ticks_ms(), self._last) < 1000:
            return None
        self._last = time.ticks_ms()
        buffer[: len(self.said)] = self.said
        return len(self.said)

    def write(self, data):
        return len(data)


class I2C:
    def __init__(self, number=0, freq=100000, sda=None, scl=None):
        pass

    def readfrom_mem_into(self, address, register, buffer):
        if address != 0x48:
            raise OSError(19)
        buffer[:] = {0x00: b"\\x0c\\x80", 0x0F: b"\\x01\\x17"}[register]
"""

NETWORK = """# a stand-in's; no board has this file
STA_IF = 0


def country(code):
    pass


class WLAN:
    def __init__(self, mode=STA_IF):
        pass

    def active(self, on=True):
        return True

    def connect(self, ssid, password=None):
        pass

    def disconnect(self):
        pass

    def isconnected(self):
        return True
"""

ONEWIRE = """# a stand-in's; no board has this file
class OneWire:
    def __init__(self, pin):
        pass
"""

# 25 degrees in twelve bits, and the CRC of it.
DS18X20 = """# a stand-in's; no board has this file
class DS18X20:
    def __init__(self, wire):
        pass

    def scan(self):
        return [b"\\x28standin"]

    def convert_temp(self):
        pass

    def read_scratch(self, rom):
        return b"\\x90\\x01\\x4b\\x46\\x7f\\xff\\x0c\\x10\\x33"

    def write_scratch(self, rom, data):
        pass
"""

NTPTIME = """# a stand-in's; no board has this file
def settime():
    pass
"""


def files(chip: bytes) -> dict[str, str]:
    """Return the modules by their path; chip: what the board says as its unique id."""
    return {
        "machine.py": MACHINE % chip,
        "network.py": NETWORK,
        "onewire.py": ONEWIRE,
        "ds18x20.py": DS18X20,
        "ntptime.py": NTPTIME,
    }
