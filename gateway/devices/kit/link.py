"""How far a board comes on its way to the broker: Wi-Fi, name, port, TLS, the broker's door.

It is tried there, with what the board was given and by its own modules, while it is stopped. No
password, no key and no reading is printed. What comes back is the first step that it fails at.
"""

from ..bundle import CONFIG
from .boards import Board, BoardFault, parse_lines

_ASK = """
import gc
if hasattr(gc, "threshold"):
    gc.threshold(2000)
import asyncio, time
from edge.board import config
held = config.load(%r)
link = held.link


def joined():
    if held.wifi is None:
        return True
    try:
        import network
    except ImportError:
        print("radio")
        return False
    if held.wifi["country"]:
        network.country(held.wifi["country"])
    radio = network.WLAN(network.STA_IF)
    radio.active(True)
    if not radio.isconnected():
        radio.connect(held.wifi["ssid"], held.wifi["password"])
    for _ in range(100):
        if radio.isconnected():
            return True
        time.sleep_ms(200)
    status = radio.status()
    for name in dir(network):
        if name.startswith("STAT_") and getattr(network, name) == status:
            status = name
    print("status", status)
    try:
        radio.disconnect()
        seen = [row[0] for row in radio.scan()]
        print("network", held.wifi["ssid"].encode() in seen)
    except Exception as why:
        print("network unknown")
    return False


def reached():
    import socket
    try:
        where = socket.getaddrinfo(link["host"], link["port"], 0, socket.SOCK_STREAM)[0][-1]
    except OSError as why:
        print("name")
        return False
    there = socket.socket()
    try:
        if hasattr(there, "settimeout"):
            there.settimeout(10)
        there.connect(where)
    except OSError as why:
        print("port", why.errno)
        return False
    finally:
        there.close()
    return True


async def let_in():
    from edge.board import assemble
    if link["tls"]:
        import ntptime
        try:
            ntptime.settime()
        except (OSError, OverflowError):
            pass
        print("year", time.gmtime()[0])
    client = assemble.client_of(held)
    coming = asyncio.create_task(client.run())
    for _ in range(75):
        if client.connected or client.trouble:
            break
        await asyncio.sleep_ms(200)
    print("in", client.connected)
    print("trouble", client.trouble)
    await client.stop()


if joined() and reached():
    asyncio.run(let_in())
"""

FIRST_YEAR = 2025  # before it no clock of ours was ever set
MOST = 300  # letters of what a broker or a certificate says


def diagnose_link(board: Board) -> str:
    """Return why a board does not come to its broker, and what to do; "" where it does.

    Raises:
        BoardFault: it cannot be asked.
    """
    try:
        said = board.run(_ASK % CONFIG)
    except BoardFault as fault:
        if not fault.raised:
            raise
        return (
            f"its program stops with {fault.raised}; run heatveil doctor, and provision it again"
        )
    return explain_link_answers(parse_lines(said))


def explain_link_answers(said: dict[str, str]) -> str:
    """Return what the answers of a board mean, and what to do; "" where nothing is wrong."""
    if "radio" in said:
        return (
            "its firmware has no Wi-Fi (no module network), and its settings name one; flash the "
            "firmware for exactly this board, a Pico is no Pico W"
        )
    if "status" in said:
        return _describe_wifi_fault(said)
    if "name" in said:
        return (
            "it is in the Wi-Fi and cannot find the broker's name; a board asks the network's "
            "name server, which knows no .local. Write an address that it knows as host under "
            "[mqtt]"
        )
    if "port" in said:
        return (
            "it is in the Wi-Fi and nobody answers it at the broker's port (error "
            f"{said['port']}); is the broker's listener open to the network (mosquitto without "
            "one listens on 127.0.0.1 alone), does a firewall or a guest network stand between?"
        )
    trouble = _shorten(" ".join(said.get("trouble", "").split())) or "no answer"
    if said.get("in") == "True":
        return ""
    if "code 4" in trouble or "code 5" in trouble:
        return (
            f"the broker turns it away ({trouble}): it knows no such device, or another password. "
            "heatveil rotate gives it a new one and tells the broker, or says what to tell it"
        )
    if int(said.get("year", FIRST_YEAR)) < FIRST_YEAR:
        return (
            f"its clock says {said['year']}, and no certificate is valid then ({trouble}); it "
            "asks pool.ntp.org, which must be reached from its network, or give it a firmware "
            "whose ntptime.host is yours"
        )
    return f"the broker is there and it does not come in ({trouble}); look into the broker's log"


def _shorten(text: str) -> str:
    """Return a text of `MOST` letters or so, cut where a sentence ends, or else a word."""
    if len(text) > MOST:
        at = max(text.rfind(". ", 0, MOST), text.rfind("; ", 0, MOST))
        text = text[:at] if at > 0 else text[:MOST].rpartition(" ")[0] + " ..."
    return text


def _describe_wifi_fault(said: dict[str, str]) -> str:
    status = said["status"]
    if "PASS" in status or "AUTH" in status:
        return (
            f"the Wi-Fi refuses it ({status}); its password is another, or it asks for WPA3 or a "
            "login page, which a board cannot. Mend [wifi] in its settings, and provision it again"
        )
    if said.get("network") == "False":
        return (
            f"the Wi-Fi that it was told is not in its reach ({status}); a board hears 2.4 GHz "
            "alone, and its name must be right to the letter. Mend [wifi] in its settings, or "
            "come nearer"
        )
    return (
        f"it hears its Wi-Fi and does not get in ({status}); its password, or the network gives "
        "no address. Mend [wifi] in its settings, or look at the access point"
    )
