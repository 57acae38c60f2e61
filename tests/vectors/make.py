"""Write the golden vectors. Run from the top: python tests/vectors/make.py

The files are never edited by hand. A change to one is a change of what key holders and
gateways can read: it goes under Privacy in CHANGELOG.md.
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent)]

from replay import answer  # noqa: E402

ROOT = bytes(range(32)).hex()
SITE_KEY = bytes(range(32, 64)).hex()
TAPE = b"heatveil vectors".hex()
CENTRAL = ["a device comes or goes", "central: the gateway blurs the sum", "one report", "who: é°"]
WORDS = ["one source moves", "local", "one reading", "that somebody is there: é°"]


def sampler_cases():
    """Every sampler and sub-sampler, small and large arguments, from both kinds of stream."""
    grid = {
        "below": [[1], [2], [3], [256], [1000003], [2**70]],
        "coin": [[1, 3], [2, 7], [10**20, 3 * 10**20]],
        "exp_coin": [[0, 1], [1, 2], [7, 2]],
        "geometric": [[1, 1], [3, 1000], [7, 3]],
        "dlaplace": [[1, 1], [500, 3], [100000, 1]],
        "dgauss": [[1, 4], [9, 2], [4000000, 1], [10**10, 1]],
        "polya": [[7, 1, 2]],
    }
    for sampler, several in grid.items():
        for args in several:
            streams = {"tape": TAPE}, {"keyed": [ROOT, "node-007", 3, 41, 12]}
            for source in streams:
                yield {
                    "name": f"{sampler}{args} from {next(iter(source))}",
                    "kind": "draws",
                    "sampler": sampler,
                    "args": args,
                    "count": 8 if sampler == "polya" else 20,
                    **source,
                }


def thermal_round(number, params, cell_mm=100):
    return {
        "number": number,
        "mechanism": "thermal",
        "grid": [[100, 1], cell_mm],
        "params": params,
        "ratios": [[1, 1], [1, 100000], [3721, 8000000]],
        "words": WORDS,
    }


def wire_cases():
    """Rounds and frames: one reading of 16 and of 32 bits, and an array of 64."""
    keys = {"site": "lab", "site_key": SITE_KEY}
    rounds = {
        "narrow": thermal_round(1, [50, 8, 0, 4000, 250000, 1, 1]),
        "wide": thermal_round(70000, [50, 12, -3, 41000, 4000000, 32, 1]),
        "array": thermal_round(2, [64, 7, 0, 5000, 90000, 32, 1], cell_mm=0),
    }
    for name, round in rounds.items():
        yield {"name": f"round {name}", "kind": "round", "round": round, **keys}
        values = [(37 * i) % 4000 for i in range(64 if name == "array" else 1)]
        yield {
            "name": f"frame {name}",
            "kind": "frame",
            "round": round,
            "device": "n001",
            "root": ROOT,
            "epoch": 9,
            "sensor": 0 if name == "array" else 49,
            "values": values,
            **keys,
        }


def device_cases():
    """What a device is told of its limits and reports, and what it keeps."""
    who = {"site": "lab", "device": "n001", "root": ROOT}
    for epoch, tighter in (1, [2, 8, 232, 250001, 10**9, 0]), (3, [7, 9, 2**40, 2**41, 0, 60000]):
        yield {
            "name": f"limits of version {tighter[0]}",
            "kind": "limits",
            "held": [1, 8, 232, 250000, 10**9, 0],
            "tighter": tighter,
            "epoch": epoch,
            "site_key": SITE_KEY,
            **who,
        }
    for epoch, seq, taken in (1, 0, True), (300, 70000, False), (2**32, 2**48 - 1, True):
        numbers = {"epoch": epoch, "seq": seq, "taken": taken}
        yield {"name": f"receipt of {epoch}, {seq}", "kind": "receipt", **numbers, **who}
    for epoch in (1, 2, 70):
        yield {"name": f"chain of boot {epoch}", "kind": "chain", "root": ROOT, "epoch": epoch}


def disk_round(params, shape, number=1):
    return {
        "number": number,
        "mechanism": "disk",
        "grid": [list(shape), 500],
        "params": params,
        "ratios": [[7, 2], None, None],
        "words": WORDS,
    }


def disk_cases():
    """Weights that epsilon allows, Rounds on the wire, and answers from one stream."""
    epsilons = [[0, 1], [1, 10], [1, 1], [7, 5], [7, 2], [10, 1], [10**15 + 1, 10**15], [64, 1]]
    scales = [1, 1 << 16, 1 << 32]
    args = [[num, den, scale] for num, den in epsilons for scale in scales]
    yield {"name": "exponentials", "kind": "exponentials", "args": args}
    # Of an epsilon of 7/2: a cell, a cross, a disc of radius 3 with a rim, rings.
    far = 1 << 32
    near = 142229783154
    heads = {
        "a cell": ([0, far, near, 7, 2, 1, 0], [(5, 4), (1, 1), (9, 1), (1, 9)]),
        "a cross": ([2, 10, 300, 7, 2, 1, 2, 150, 75], [(5, 4), (9, 1), (1, 9), (1, 1)]),
        "a disc": (
            [3, far, near, 7, 2, 3, 1, near // 2, 2, 1, near // 3, 0, 1, far + 1],
            [(7, 5), (3, 2)],
        ),
        "rings": ([2, 7, 200, 7, 2, 1, 2, 90, 41, 0, 2, 60, 20, 0, 1, 9], [(8, 8)]),
    }
    for name, (params, shapes) in heads.items():
        for shape in shapes:
            called = f"{name} on {shape[0]} x {shape[1]}"
            round = disk_round(params, shape)
            yield {"name": called, "kind": "places", "round": round, "count": 24, "tape": TAPE}
        keys = {"site": "lab", "site_key": SITE_KEY}
        yield {"name": f"round of {name}", "kind": "round", "round": round, **keys}


def sealed_cases():
    """RFC 9180, A.2.2, and frames of central trust; the RFC's is held against it elsewhere."""
    yield {
        "name": "RFC 9180, A.2.2.1, sequence number 0",
        "kind": "hpke",
        "secret": "0c35fdf49df7aa01cd330049332c40411ebba36e0c718ebc3edf5845795f6321",
        "recipient": "13640af826b722fc04feaa4de2f28fbd5ecc03623b317834e7ff4120dbe73062",
        "psk": "0247fd33b913760fa1fa51e1892d9f307fbe65eb171e8132c2af18555a738b82",
        "psk_id": "456e6e796e20447572696e206172616e204d6f726961",
        "info": "4f6465206f6e2061204772656369616e2055726e",
        "aad": "436f756e742d30",
        "plain": "4265617574792069732074727574682c20747275746820626561757479",
    }
    for name, payload in {"a cell": [3, 17], "nothing": [3], "far": [3, -(2**63)]}.items():
        yield {
            "name": f"report of {name}",
            "kind": "sealed",
            "round": {**disk_round([1, 2], (5, 4)), "mechanism": "tally", "words": CENTRAL},
            "site": "lab",
            "site_key": SITE_KEY,
            "device": "n001",
            "root": ROOT,
            "private": bytes(range(64, 96)).hex(),
            "secret": bytes(range(96, 128)).hex(),
            "epoch": 9,
            "seq": 4,
            "payload": payload,
            "numbers": 2,
        }


def sum_cases():
    """Keys of a secure sum, its messages step by step, and a roster; masks are tried elsewhere."""
    some = [bytes(range(at, at + 32)).hex() for at in range(0, 224, 32)]
    lines = {word: [one[:30] for one in some[at:]] for at, word in enumerate(("sigma", "b"))}
    pairs = {"d": some[:2], "c": some[2:4]}
    yield {"name": "keys", "kind": "sum keys", "sid": some[4], "t": 3, **pairs, **lines}
    steps = {
        "join": (1, "n001/sum", {3: some[0] + some[1]}),
        "keys": (1, "n001/told", {3: "05", 4: some[0] * 4}),
        "shares": (2, "n001/sum", {3: some[0][:32], 4: some[1] * 3}),
        "boxes": (2, "n001/told", {3: "05", 4: some[1] * 3}),
        "masked": (3, "n001/sum", {3: some[2], 4: 0, 5: [16, [0, 1, -1, 65535, 65536, 7, 8, 9]]}),
        "masked on": (3, "n001/sum", {4: 1024, 5: [32, [2**31, -2, 3, 4]]}),
        "set": (3, "sum/0", {3: "ff0f"}),
        "confirm": (4, "n001/sum", {3: some[3]}),
        "tags": (4, "n001/told", {3: "0f", 4: some[4], 5: "0e", 6: some[4][:48]}),
        "reveal": (5, "n001/sum", {3: some[5] + "00" * 16}),
    }
    for name, (step, where, fields) in steps.items():
        yield {
            "name": name,
            "kind": "sum message",
            "step": step,
            "sid": some[4],
            "key": SITE_KEY,
            "topic": f"heatveil/1/lab/{where}",
            "fields": {str(key): one for key, one in fields.items()},
        }
    yield {
        "name": "roster",
        "kind": "roster",
        "numbers": [7, 0, 3, 6, 3, 2, 5, 4, 16],
        "neighbours": [0, 5, 2],
        "statics": some[:3],
        "digest": some[3],
        "key": SITE_KEY,
    }


def main():
    files = {
        "samplers": sampler_cases(),
        "wire": wire_cases(),
        "device": device_cases(),
        "disk": disk_cases(),
        "sealed": sealed_cases(),
        "sums": sum_cases(),
    }
    for name, cases in files.items():
        answered = [{**case, "expect": answer(case)} for case in cases]
        path = HERE / f"{name}.json"
        rows = ",\n".join(map(json.dumps, answered))  # one vector a line, as a change is of one
        path.write_text(f"[\n{rows}\n]\n")
        print(f"{path.name}: {len(answered)} cases")


if __name__ == "__main__":
    main()
