"""The gateway's own sentences, each with a code and fields, for a page in another language.

Who shows a sentence to somebody looks its code up in a table of his own; `words.js` is one, and
shows the sentence itself where a code is none of its. A code is found by how the sentence begins,
so that what a store has kept for years has one, too.

    >>> add_code({"why": "the broker is not there"})["code"]
    'broker.gone'
"""

import re
from functools import cache
from typing import Any

# How each sentence begins, with its fields; a first that is also the beginning of another is last.
SENTENCES = {
    # Parts of the gateway that do not work.
    "broker.silent": "no MQTT broker at {place} ({why});",
    "broker.refuses": "the broker at {place} will not have {name} ({why});",
    "broker.gone": "the broker is not there",
    "broker.certificate": "{place} shows a certificate ",
    "broker.clear": "{place} does not answer in TLS",
    "store.refuses": "the store does not take what came:",
    "store.silent": "the database does not answer:",
    "disk.full": "less than {mb} MB are left where the database is",
    "solver.slow": "no map was found within {limit} s",
    "solver.died": "the program that draws the map died",
    "solver.failed": "the program that draws the map failed",
    "thread.ended": "its thread {thread} has ended by a fault",
    "rounds.failed": "the rounds have failed",
    "rounds.spent": "no round opens: what was promised for any {hours} h is spent",
    "rounds.awaited": "no round opens: it is not known yet which round the broker retains",
    "rounds.hindered": "no round opens:",
    "rounds.hours": "rounds open from {first} to {last}, and it is",
    "rounds.standby": "standby: another gateway leads this site",
    "workers.part": "nobody has part {parts}, whose devices wait",
    "workers.none": "none is at work",
    # Devices that need a new key, and devices that are shut out.
    "alarm.changed": "{device} sent message {number} before with other bytes",
    "alarm.double": "two boards speak as {device} in turns, or the broker holds messages back "
    "again and again: {number} came after {last}, and",
    "alarm.future": "{device} sent message {number} after {last}: no device",
    "alarm.replayed": "{device} sent message {number} after {last}:",
    "out.flood": "it sent more than [guard] messages_per_s and burst allow",
    "out.forged": "it sent more that is no frame of its own than [guard] forged allows",
    "out.lied": "it gave false shares in a secure sum",
    "out.hand": "by hand",
    # Why there is no map, and why there are no more rounds.
    "map.silence": "nobody answered the round",
    "map.few": "{came} device{s} of {enrolled} answered and [rounds] quorum asks for {quorum}:",
    "map.unheard": "no sensor was heard",
    "map.unanswered": "no device answered",
    "map.shards": "no shard had enough reports to be opened",
    "map.misfit": "no heat within the bounds comes nearer to the readings than",
    "map.clamp": "sensor{many} {sensors} show{one} the most or the least that a device can",
    "done.asked": "as many rounds as were asked for have been run:",
    "done.epsilon": "all of epsilon is spent, in {rounds} round",
    "done.readings": "all {rounds} readings that the promise is for have been taken",
}


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """Return what finds each sentence."""
    quoted = {code: re.escape(text) for code, text in SENTENCES.items()}
    field = re.compile(r"\\\{(\w+)\\\}")
    return {
        code: re.compile(field.sub(r"(?P<\1>.*?)", text), re.DOTALL)
        for code, text in quoted.items()
    }


def add_code(said: dict[str, Any]) -> dict[str, Any]:
    """Return what says `why` with a code and its fields beside it; `code` is "" where none is."""
    for code, pattern in _patterns().items():
        if match := pattern.match(said.get("why") or ""):
            return {**said, "code": code, "fields": match.groupdict()}
    return {**said, "code": "", "fields": {}}


def add_codes(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event with codes for all of its sentences."""
    kind = event["kind"]
    if kind in ("map", "done"):
        return add_code(event)
    if kind in ("alarm", "quarantine"):
        key = {"alarm": "alarms", "quarantine": "devices"}[kind]
        return {**event, key: [add_code(one) for one in event[key]]}
    if kind == "health":
        return {**event, "parts": {name: add_code(one) for name, one in event["parts"].items()}}
    return event
