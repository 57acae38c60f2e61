"""What each layer is about, for a reader who knows buildings and not this program."""

# What could be wrong where a layer finds something, in one sentence.
GUIDE: dict[str, str] = {
    "fit": "The devices' dice could be loaded, so that noise is smaller or more regular than it "
    "should be; many draws are made at the widths in use and held against the formula.",
    "accountant": "The numbers of the promise, and the sums of the budget, could be reckoned too "
    "small; each is worked out again by another path.",
    "exact": "The devices' dice could be loaded by so little that no number of draws shows it; "
    "all that they can draw is enumerated.",
    "finite": "An answer could be far likelier for one reading than for another; every answer to "
    "every reading is worked out.",
    "spoken": "A device that answers with a place could tell more of it than its answer does: by "
    "lengths, words or silence, by answering too often, or by drawing twice alike.",
    "noise": "A device could leave noise out, share it between numbers or draw too little, so "
    "that answers tell more than is said.",
    "sensitivity": "Somebody who moves could change the readings by more than the noise was made "
    "to hide; a search of its own looks for the worst move.",
    "paths": "In a room with walls and doors somebody who takes another way could change the "
    "readings by more than the noise was made to hide; such ways are looked for in many rooms.",
    "device": "Something between plan and published numbers could undo the noise; real device "
    "code answers, and two rooms are told apart as well as can be.",
    "crash": "A power cut could make a device forget what it has answered, and answer twice with "
    "the same noise; the power is cut at every write.",
    "attack": "Somebody with stolen keys could do one thing after the other to a device, until it "
    "says more than it may; sequences of attacks are tried.",
    "interpreters": "A board's Python could reckon otherwise than the one that was audited; the "
    "same answers are asked of each.",
    "price": "A round could plan for less noise than its promise asks for, by a wrong formula or "
    "by rounding down.",
    "counts": "Sensors deliver whole steps, and a step could become more than it should when it "
    "is turned into the numbers that are sent.",
    "levels": "A device that learns the room's own warmth from its readings could give away who "
    "was there before, or be made to learn too much; two worlds are led apart as far as they go.",
    "keys": "One key could serve two purposes, or old keys stay on a device from which they can "
    "be read.",
    "holders": "Somebody could take the noise off again who should not, because the device's "
    "noise follows from a key that he holds.",
    "enrolment": "The files written when a device is set up could hold keys that nobody should "
    "have, or be open to others.",
    "tables": "Arrays may draw noise from tables, which are a little off; more off than was set "
    "aside for, and the promise would be broken.",
    "streams": "The same noise could be used for two answers, whose difference then shows what "
    "changed in the room.",
    "moments": "The time at which a device speaks could depend on what it has measured.",
    "words": "The length of a message, or what a device says beside its numbers, could depend on "
    "what it has measured.",
    "wire": "Somebody on the network could change, cut, move or invent messages and be believed.",
    "limits": "Somebody who sends settings to devices could loosen the limits that they keep.",
    "rounds": "Somebody who asks could get answers with less noise, or more of them, than the "
    "limits of a device allow.",
    "gateway": "The gateway could count an answer twice, open rounds that nothing is left for, "
    "or lose evidence of a device that was copied.",
    "links": "A device or the gateway could talk to a broker that only claims to be the right "
    "one.",
    "after": "A map could be made of more than the published numbers, and so tell more.",
    "deployment": "What your devices were enrolled with could let more out than is promised; real "
    "device code answers under it until it is silent.",
    "promise": "The promise could be stated in rounded numbers.",
}
