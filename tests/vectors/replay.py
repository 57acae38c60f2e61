"""Answer the golden cases; runs unchanged on CPython and MicroPython.

A case is a dict with `kind` and what that kind needs, bytes written as hexadecimal text.
`answer` computes what the case asks, `replay` lists the cases whose stored answer differs.
"""

import binascii

from edge.core import entropy
from edge.core.records import Grid, Guarantee, Reading, Round

# Each kind loads what it needs: a heap of 80 KB has no room for all of edge at once.


def unhex(text):
    return binascii.unhexlify(text)


def hexed(data):
    return binascii.hexlify(data).decode()


def stream(case):
    """Return the stream that a case draws from."""
    if "tape" in case:
        return entropy.Tape(unhex(case["tape"]))
    key = case["keyed"]
    return entropy.keyed(unhex(key[0]), key[1], key[2], key[3], key[4])


def draws(case):
    """Return `count` draws of one sampler with fixed arguments."""
    rng = stream(case)
    if case["sampler"] == "below":
        return [rng.below(case["args"][0]) for _ in range(case["count"])]
    from edge.core import noise, shares

    sampler = getattr(noise, case["sampler"], None) or getattr(shares, case["sampler"])
    return [int(sampler(*(case["args"] + [rng]))) for _ in range(case["count"])]


def round_of(case):
    """Return the Round that a case writes out."""
    given = case["round"]
    ratios = [None if pair is None else (pair[0], pair[1]) for pair in given["ratios"]]
    promise = Guarantee(*(ratios + given["words"]))
    shape, cell_mm = given["grid"]
    return Round(
        given["number"],
        given["mechanism"],
        Grid((shape[0], shape[1]), cell_mm),
        tuple(given["params"]),
        promise,
    )


def round_message(case):
    """Return a signed Round and its name."""
    from edge.core import wire
    from edge.host import post

    round = round_of(case)
    where = wire.round_topic(case["site"], round.mechanism)
    message = post.pack_round(round, unhex(case["site_key"]), where)
    if wire.unpack_round(message, unhex(case["site_key"]), where) != round:
        return "does not come back"
    return [hexed(message), hexed(wire.name_of(round))]


def frame(case):
    """Return the frame of a keyholder device, and the readings that its key gives back."""
    from edge.core import budget, node, wire
    from edge.core.budget import Limits
    from edge.host import post, rootkeys
    from edge.host.enrol import Ram, provision
    from edge.mechanisms import thermal

    round = round_of(case)
    site, name, root = case["site"], case["device"], unhex(case["root"])
    count, site_key = len(case["values"]), unhex(case["site_key"])
    who = rootkeys.identity(site, name, root, site_key, case["sensor"], "keyholder", count)
    kept = Ram()
    least = Limits(1, round.params[1], 1, 1, 10**9, 0)
    provision(kept, who.state_key, rootkeys.first_chain(root), least)
    for _ in range(case["epoch"]):
        ledger = budget.Budget(kept, who.state_key)
        ledger.boot()
    device = node.Node(who, ledger)
    where = wire.round_topic(site, round.mechanism)
    made = device.answer(post.pack_round(round, site_key, where), lambda params: case["values"])
    if made is None:
        return device.refusal
    data = wire.topic(site, name, "data")
    report = post.unpack_report(made, rootkeys.mac_key(root), data, name)
    chain = rootkeys.chain_at(root, report.epoch)
    rng = entropy.keyed(chain, name, report.epoch, report.seq, report.payload[0])
    return [hexed(made), list(thermal.unveil(round, report.payload, rng).values)]


def tighten(case):
    """Return the message of tighter limits, and a device's slots once it has taken them."""
    from edge.core import budget, node, tightening
    from edge.core.budget import Limits
    from edge.host import post, rootkeys
    from edge.host.enrol import Ram, provision

    root = unhex(case["root"])
    site, name, site_key = case["site"], case["device"], unhex(case["site_key"])
    who = rootkeys.identity(site, name, root, site_key, 0, "keyholder")
    kept = Ram()
    provision(kept, who.state_key, rootkeys.first_chain(root), Limits(*case["held"]))
    for _ in range(case["epoch"]):
        ledger = budget.Budget(kept, who.state_key)
        ledger.boot()
    where = tightening.topic(site, name)
    message = post.pack_limits(Limits(*case["tighter"]), who.config_key, where)
    said = node.Node(who, ledger).tighten(message)
    return [hexed(message), said["taken"], [hexed(kept.read(i)) for i in range(3)]]


def receipt(case):
    """Return the receipt of a report."""
    from edge.core import wire
    from edge.host import post, rootkeys

    where = wire.topic(case["site"], case["device"], "receipt")
    key = rootkeys.mac_key(unhex(case["root"]))
    return hexed(post.pack_receipt(case["epoch"], case["seq"], case["taken"], key, where))


def chain(case):
    """Return the chain key of a boot, and the key of its noise."""
    from edge.core.entropy import epoch_key
    from edge.host import rootkeys

    key = rootkeys.chain_at(unhex(case["root"]), case["epoch"])
    return [hexed(key), hexed(epoch_key(key, case["epoch"]))]


def hpke_message(case):
    """Return what RFC 9180 seals to, with the public key of the message in front."""
    from edge.mechanisms import central, crypto

    given = [unhex(case[word]) for word in ("recipient", "psk", "psk_id", "info", "aad", "plain")]
    secret = unhex(case["secret"])
    return hexed(central.seal((secret, crypto.x25519(secret, crypto.BASE)), *given))


def sealed_frame(case):
    """Return a Round of central trust, its name, and a frame that answers it."""
    from edge.core import wire
    from edge.core.records import Report, SealedRound
    from edge.host import post, rootkeys
    from edge.mechanisms import central, crypto

    private, secret, root = [unhex(case[word]) for word in ("private", "secret", "root")]
    key = crypto.x25519(private, crypto.BASE)
    round = SealedRound(*(tuple(round_of(case)) + (key,)))
    site, name, site_key = case["site"], case["device"], unhex(case["site_key"])
    where = wire.round_topic(site, round.mechanism)
    message = post.pack_round(round, site_key, where)
    if wire.unpack_round(message, site_key, where) != round:
        return "does not come back"
    who = rootkeys.identity(site, name, root, site_key, case["payload"][0], central="tally")
    counters = case["epoch"], case["seq"]
    info, aad = central.bind_report(round, site, name, *counters)
    plain = central.pack_padded(case["payload"], case["numbers"])
    fresh = secret, crypto.x25519(secret, crypto.BASE)
    sealed = central.seal(fresh, key, who.seal_key, who.key_id, info, aad, plain)
    data = wire.topic(site, name, "data")
    frame = wire.pack_report(
        Report(wire.name_of(round), name, *(counters + (sealed,))), who.mac_key, data, 0
    )
    report = post.unpack_report(frame, who.mac_key, data, name)
    shared = crypto.x25519(private, report.payload[:32])
    seal = central.derive_key_nonce(
        shared, report.payload[:32], key, who.seal_key, who.key_id, info
    )
    if central.unpack(crypto.unseal(*(seal + (report.payload[32:], aad)))) != case["payload"]:
        return "does not open"
    return [hexed(message), hexed(wire.name_of(round)), hexed(frame)]


def sum_keys(case):
    """Return what two devices of a secure sum make of their secrets, but for masks."""
    from edge.core.compat import sha256
    from edge.mechanisms import crypto, secure_sum

    sid, t = unhex(case["sid"]), case["t"]
    static, fresh = [[crypto.Secret(unhex(one)) for one in case[word]] for word in ("d", "c")]
    lines = []
    for word in ("sigma", "b"):
        numbers = [secure_sum.pack_number(int(one, 16)) for one in case[word][:t]]
        lines.append(b"".join(numbers))
    sigma, b = [secure_sum.recover_secret(line) for line in lines]
    pair = secure_sum.pair_key(static[0].agree(static[1].public), 0, 1)
    publics = fresh[0].public, fresh[1].public
    q = secure_sum.box_key(*((pair, fresh[1].agree(publics[0]), sid) + publics))
    own = crypto.Secret(secure_sum.derive_scalar(sigma, sid, 0)).public
    shares = [secure_sum.pack_number(secure_sum.evaluate(line, 1)) for line in lines]
    bound = secure_sum.aad(sid, 0, 1, own)
    box = crypto.seal(secure_sum.one_way_key(q, 0, 1), bytes(12), b"".join(shares), bound)
    decided = sha256(sid + secure_sum.pack_places(range(0, 12, 5), 12))
    made = [pair, q, own, box, secure_sum.mask_key(pair, sid, 1, 0)]
    made += [secure_sum.self_key(b, sid, 0), secure_sum.commitment(b, sid, 0)]
    made += [secure_sum.make_mask_tag(q, 0, 1), secure_sum.make_set_tag(q, 1, 0, decided)]
    return [hexed(one) for one in made]


def sum_message(case):
    """Return a message of a secure sum; what a field holds comes back."""
    from edge.core import wire
    from edge.mechanisms import secure_sum

    fields = {}
    for key in case["fields"]:
        given = case["fields"][key]
        fields[int(key)] = unhex(given) if isinstance(given, str) else given
        if isinstance(given, list):
            words = secure_sum.pack_words(given[1], 0, len(given[1]), given[0])
            fields[int(key)] = wire.Words(given[0], words)
    key, sid = unhex(case["key"]), unhex(case["sid"])
    message = secure_sum.pack(case["step"], sid, fields, key, case["topic"])
    back = wire.open_message(message, key, case["topic"], 1024)
    if any([back[at] != fields[at] for at in fields]):
        return "does not come back"
    return hexed(message)


def roster(case):
    """Return the message of a roster, which comes back."""
    from edge.host import post
    from edge.mechanisms import secure_sum

    statics = b"".join([unhex(one) for one in case["statics"]])
    told = tuple(case["numbers"]) + (tuple(case["neighbours"]), statics, unhex(case["digest"]))
    message = post.pack_roster(secure_sum.Roster(*told), unhex(case["key"]), "a/topic")
    if secure_sum.read_roster(message, unhex(case["key"]), "a/topic") != told:
        return "does not come back"
    return hexed(message)


def exponentials(case):
    """Return the greatest weights that ratios of epsilon allow."""
    from edge.mechanisms.footprint import exp_floor

    return [exp_floor(num, den, scale) for num, den, scale in case["args"]]


def places(case):
    """Return a disk Round's total weight, its answers to many cells, their counts' digest."""
    from edge.core.compat import sha256
    from edge.mechanisms import disk

    round, rng = round_of(case), stream(case)
    table = disk.Table(round)
    columns, rows = round.grid.shape
    answers = []
    for n in range(case["count"]):
        cell = n % (columns + 2) - 1, n // 3 % (rows + 2) - 1
        answers.append(disk.report(round, Reading(n, cell), rng, table))
    counts = disk.release(round, answers, None).values
    return [table.total, [place for _, place in answers], hexed(sha256(bytes(counts)))[:16]]


KINDS = {
    "exponentials": exponentials,
    "places": places,
    "draws": draws,
    "round": round_message,
    "frame": frame,
    "limits": tighten,
    "receipt": receipt,
    "chain": chain,
    "hpke": hpke_message,
    "sealed": sealed_frame,
    "sum keys": sum_keys,
    "sum message": sum_message,
    "roster": roster,
}


def answer(case):
    """Return what a case asks for."""
    return KINDS[case["kind"]](case)


def replay(cases):
    """Return (name of the case, expected, got) for every case that does not come out."""
    wrong = []
    for case in cases:
        got = answer(case)
        if got != case["expect"]:
            wrong.append((case["name"], case["expect"], got))
    return wrong
