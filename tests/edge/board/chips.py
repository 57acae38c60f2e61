"""Sensors as their data sheets describe them, on a bus of their own: knows nothing of edge.

Runs on every interpreter, so it is written as edge is. A test reads this file and puts its own
script behind it. `bits(text)` makes a word from what a data sheet's table prints.
"""

from array import array


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

    def writeto_mem(self, address, register, data, addrsize=8):
        self._at(address).store(register, bytes(data))

    def readfrom_mem_into(self, address, register, buffer, addrsize=8):
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


class Melexis:
    """An MLX90640 or MLX90641: words at addresses of sixteen bits, and pages that come by turns.

    memory, pixels: words from 0x2400 and from 0x0400 on. beside: of each page the words by address
    that stand there till the next one. A page is new after each pause. stuck: it measures no more.
    hurry: so often a page has gone by when somebody looks, and another while pixels are read.
    """

    def __init__(self, memory, pixels, beside):
        self.memory, self.pixels, self.beside = memory, pixels, beside
        self.page, self.new, self.stuck, self.hurry, self.control = 0, 8, False, 0, 0

    def pause(self, wait_ms):
        if not self.stuck:
            self.page, self.new = 1 - self.page, 8

    def store(self, register, data):
        if register == 0x8000:
            self.new = 0
        else:
            self.control = register, data

    def load(self, register, size):
        if register in (0x0400, 0x0420) and self.hurry:
            self.hurry -= 1
            self.pause(250)
        said = bytearray(size)
        for i in range(size // 2):
            at = register + i
            if at == 0x8000:
                word = self.new | self.page
            elif at >= 0x2400:
                word = self.memory[at - 0x2400]
            elif at - 0x0400 < len(self.pixels):
                word = self.pixels[at - 0x0400]
            else:
                word = self.beside[self.page].get(at, 0)
            said[2 * i : 2 * i + 2] = bytes([word // 256, word % 256])
        return said


# The memory's words from 0x2410 to 0x243F, of the worked examples of their data sheets.
MLX90640 = (
    "4210ffbb0202f202f2f2e2e2d1e1b1d1f10ff00fe0efe0efe1e1f3f2f404e504"
    "79a62f44ffdd221033332233ef019acceedc10ff2221333323330112eeffbbdd"
    "18ef2ff159529d6854540994695653542363e446fbb5044bf020979797972889"
)
MLX90641 = (
    "0000b7e8d01600000000c2fd1a43ca9a5164018c018c018c9cb1956ca5cc7dd1"
    "6d7f3cd427b819e6f13778142658ef9e917ff018e15648171c80233ec826cffc"
    "a009bb53f194fc007814ed22ed22ed22ed22ed2280c8ed224190ed22da58ed22"
)


def a_memory(shared, mark, word_of):
    """The words of a memory: word_of gives those of the pixels by number."""
    words = array("H", [0] * 832)
    words[10] = mark
    for i in range(48):
        words[16 + i] = int(shared[4 * i : 4 * i + 4], 16)
    for i in range(768):
        words[64 + i] = word_of(i)
    return words


class Chance:
    """Numbers of fifteen bits, the same everywhere."""

    def __init__(self, state):
        self.state = state

    def below(self, count):
        self.state = (self.state * 1103515245 + 12345) % 2147483648
        return (self.state >> 16) % count


def an_mlx90640(chance=None, tgc=0x20, chess=True):
    """Each pixel is the worked example's; or by chance, as chips may differ."""

    def word_of(i):
        if not chance:
            return 0x08A0
        return chance.below(64) << 10 | 20 + chance.below(12) << 4 | chance.below(8) << 1

    words = a_memory(MLX90640, 0 if chess else 0x0800, word_of)
    words[60] = 0xF000 + tgc
    pixels = [(chance.below(300) - 340) % 65536 if chance else 609 for _ in range(768)]
    beside = [{0x0700: 19442, 0x0720: 1711, 0x072A: 52421, 0x0708: 65482} for _ in range(2)]
    beside[0][0x070A], beside[1][0x070A] = 6273, 6293 if chance else 6273
    beside[1][0x0728] = 65480
    return Melexis(words, array("H", pixels), beside)


def checked(word):
    """A word of eleven bits with the five checks above it, as the MLX90641's table has them."""
    for at, mask in ((11, 0x055B), (12, 0x066D), (13, 0x078E), (14, 0x07F0), (15, 0x7FFF)):
        word += sum([word >> i & mask >> i & 1 for i in range(15)]) % 2 << at
    return word


def an_mlx90641(chance=None, tgc=0):
    """The same of that chip; a page has all pixels, two rows of one before two of the other."""

    def word_of(i):
        if not chance:
            return (0xF849, 0xFFFF, 0xB8C0, 0xD847)[i // 192]
        low, count = ((31, 80), (1200, 848), (0, 2048), (31, 80))[i // 192]
        return checked(low + chance.below(count))

    words = a_memory(MLX90641, 0x40, word_of)
    words[51] = checked(0x0400 + tgc)
    pixels = [(chance.below(800) - 1340) % 65536 if chance else 972 for _ in range(384)]
    beside = {0x0580: 19540, 0x0588: 65482, 0x058A: 9734, 0x05A0: 1752, 0x05AA: 52106}
    return Melexis(words, array("H", pixels), (beside, beside))


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
