"""Sensors as their data sheets describe them, on a bus of their own: knows nothing of edge.

Runs on every interpreter, so it is written as edge is. A test reads this file and puts its own
script behind it. `bits(text)` makes a word from what a data sheet's table prints.
"""


class Bus:
    """An I2C bus with chips on it: who is not there does not answer."""

    def __init__(self, **chips):
        self.chips = {int(name[1:], 16): chip for name, chip in chips.items()}

    def _at(self, address):
        if address not in self.chips:
            raise OSError(5)
        return self.chips[address]

    def writeto(self, address, data):
        self._at(address).told(bytes(data))

    def readfrom_into(self, address, buffer):
        said = self._at(address).said(len(buffer))
        for i in range(len(buffer)):
            buffer[i] = said[i]

    def writeto_mem(self, address, register, data):
        self._at(address).store(register, bytes(data))

    def readfrom_mem_into(self, address, register, buffer):
        said = self._at(address).load(register, len(buffer))
        for i in range(len(buffer)):
            buffer[i] = said[i]


class GridEye:
    """AMG8833: byte registers; the pixels are empty until reset and a rate have been written."""

    def __init__(self, words):
        self.words = words
        self.power, self.started = 0x10, False

    def store(self, register, data):
        if register == 0x00:
            self.power = data[0]
        if register == 0x01 and data == b"\x3f" and self.power == 0:
            self.started = True

    def load(self, register, size):
        page = bytearray(256)
        if self.started:
            for i in range(64):
                page[0x80 + 2 * i] = self.words[i] % 256
                page[0x81 + 2 * i] = self.words[i] // 256
        return page[register : register + size]


class Tmp117:
    """Registers of words, the high byte first."""

    def __init__(self, word, identity=0x0117):
        self.words = {0x00: word, 0x0F: identity}

    def load(self, register, size):
        word = self.words[register]
        return bytes([word // 256, word % 256])


class Mcp9808(Tmp117):
    """The same, with who made it; 0 degrees for the first 250 ms."""

    def __init__(self, word, maker=0x0054, kind=0x0400):
        self.first = word
        self.words = {0x05: 0, 0x06: maker, 0x07: kind}

    def pause(self, wait_ms):
        if wait_ms >= 250:
            self.words[0x05] = self.first


class Bme280:
    """Byte registers; a result is there once it was told to measure as it must be.

    Another program has left its filter on, which only a reset ends: a result is of earlier ones.
    """

    def __init__(self, result, trim, kind=0x60):
        self.page = bytearray(256)
        self.page[0xD0] = kind
        for i in range(3):
            word = trim[i] % 65536
            self.page[0x88 + 2 * i : 0x8A + 2 * i] = bytes([word % 256, word // 256])
        self.result = result
        self.dark = False  # it loses its power while it measures
        self.page[0xFA], self.page[0xF5] = 0x80, 0x1C

    def store(self, register, data):
        if register == 0xE0 and data == b"\xb6":
            self.page[0xF4] = self.page[0xF5] = 0
        if register == 0xF4 and data == b"\xa1":
            self.page[0xF4] = 0 if self.dark else 0xA0  # it is asleep again
            word = (
                0x80000
                if self.dark
                else self.result * 15 // 16
                if self.page[0xF5]
                else self.result
            ) * 16
            self.page[0xFA:0xFD] = bytes([word // 65536, word // 256 % 256, word % 256])

    def load(self, register, size):
        return self.page[register : register + size]


class Mlx90614:
    """Words of memory, the low byte first, and the PEC that the application note prints of one."""

    def __init__(self, word, pec):
        self.word, self.pec = word, pec

    def load(self, register, size):
        if register != 0x07:
            raise OSError(5)
        return bytes([self.word % 256, self.word // 256, self.pec])[:size]


class Sht4x:
    """Answers a command, once: both words with the CRC that is given."""

    def __init__(self, *said):
        self.answer, self.command = bytes(said), None

    def told(self, data):
        self.command = data

    def said(self, size):
        if self.command != b"\xfd":
            raise OSError(5)
        self.command = None
        return self.answer


class Wire:
    """A one-wire bus by the methods of the firmware's driver: ROM to scratchpad."""

    def __init__(self, pads):
        self.pads, self.converted, self.written = pads, 0, []

    def convert_temp(self):
        self.converted += 1

    def read_scratch(self, rom):
        return bytearray(self.pads[rom])

    def write_scratch(self, rom, data):
        self.written.append((rom, bytes(data)))


class Params:
    exponent = 8


def low_first_crc(data):
    """The CRC of a one-wire device by long division of bits, as polynomial x8 + x5 + x4 + 1."""
    register = [0] * 8
    for byte in data:
        for k in range(8):
            feed = register[7] ^ (byte >> k & 1)
            register.insert(0, feed)
            register.pop()
            register[4] ^= feed
            register[5] ^= feed
    return sum([register[7 - k] << k for k in range(8)])


def pad(word, config=0x7F):
    """A DS18B20's scratchpad with this count."""
    said = bytes([word % 256, word // 256, 0x4B, 0x46, config, 0xFF, 0x0C, 0x10])
    return said + bytes([low_first_crc(said)])


def fault_of(call, *args):
    """What a call raises: its name and its words."""
    try:
        call(*args)
    except Exception as why:
        return type(why).__name__ + ": " + str(why)
    return "nothing"
