"""What the numbers of claims mean, which way is good, and in what words a failure is told."""

from typing import NamedTuple

LEAK, COUNT, FACT, WASTE = range(4)  # from the gravest


class Unit(NamedTuple):
    """How the numbers of one unit are to be read.

    The words of a failure may name {proven} and {claimed}, {times} the one over the other,
    {part} its inverse, and {noise} and {more}, the roots of those two, for sigmas of variances.
    """

    gravity: int
    means: str  # what the numbers are, and which way is good
    fails: str = "{proven} {unit} found where {claimed} may be"
    drawn: str = ""  # the name of its row in the picture


OTHER = Unit(COUNT, "less is better")  # for what is not in the table
# The gravest first.
UNITS: dict[str, Unit] = {
    "epsilon": Unit(
        LEAK,
        "how much an answer tells two neighbouring rooms apart, as a power of e; less is safer",
        "epsilon is {proven} where {claimed} is promised, {times} times as much",
        "what answers give away (epsilon)",
    ),
    "delta": Unit(
        LEAK,
        "the chance that epsilon does not cover; less is safer",
        "delta is {proven} where {claimed} is promised, {times} times as much",
        "the chance beyond that (delta)",
    ),
    "variance asked / given": Unit(
        LEAK,
        "the noise needed over the noise planned, squared; below 1 there is enough",
        "the noise is {noise} of what is promised",
        "noise needed, over noise planned",
    ),
    "variance promised / found": Unit(
        LEAK,
        "the noise promised over the noise found, squared; below 1 there is enough",
        "the noise is {noise} of what is promised at most",
        "noise promised, over noise found",
    ),
    "variance found / promised, or the inverse": Unit(
        LEAK,
        "how far the noise of all sensors together is off, squared, up or down; 1 is right",
        "the noise of all sensors together is {more} times too small or too large at least",
        "noise of all sensors together",
    ),
    "sigmas": Unit(
        LEAK,
        "how far apart two rooms are seen, in standard deviations of the noise; less is safer",
        "two rooms are told {proven} standard deviations apart, {times} times what is promised",
        "how far two rooms are told apart",
    ),
    "rho": Unit(
        LEAK,
        "what an answer takes from the budget of privacy (rho of zCDP); less is safer",
        "an answer costs {proven} rho where {claimed} is promised, {times} times as much",
        "what an answer costs",
    ),
    "grains": Unit(
        LEAK,
        "by how much one neighbour changes what is sent, in its smallest steps; less is safer",
        "one neighbour changes what is sent {times} times as much as the noise is made for",
        "change by one neighbour",
    ),
    "truth / ours": Unit(
        LEAK,
        "the true number over the one that is reckoned; below 1 errs on the safe side",
        "what is reckoned is {part} of the truth",
        "truth, over what is reckoned",
    ),
    "chance": Unit(
        LEAK,
        "how often something happened, against how often it must; the same is right",
        "it happened with a chance of {proven} where {claimed} is promised",
    ),
    "blocks": Unit(
        LEAK,
        "blocks of noise that serve twice, which would cancel out; none may",
        "{proven} blocks of noise are used twice",
    ),
    "streams shared": Unit(
        LEAK, "streams of noise that two readings share; none may", "{proven} streams are shared"
    ),
    "correlation": Unit(
        LEAK,
        "how far two noises go together, from 0 to 1; proven 0 is right",
        "noises that must be independent go together, by a correlation of {proven} at least",
    ),
    "total variation": Unit(
        LEAK,
        "the share of draws that could be of another value than by the formula; less is better, "
        "and what is claimed is what could not be enumerated",
        "values come more or less often than the formula says ({proven} of all draws)",
        "draws off the formula",
    ),
    "-log10 p": Unit(
        LEAK,
        "how surprising the draws would be if all were right: 1 is one case in ten, 3 one in a "
        "thousand, 9 one in a billion; less is better",
        "draws so far off the formula come by chance once in 10^{proven}",
        "surprise at the draws",
    ),
    "faults": Unit(COUNT, "power cuts that were survived badly; none may be"),
    "Rounds": Unit(
        COUNT, "Rounds answered again or for too little; fewer are safer", drawn="answered again"
    ),
    "limits loosened": Unit(COUNT, "limits that let more through than before; none may"),
    "forgeries believed": Unit(COUNT, "changed messages taken for true; none may be"),
    "answers": Unit(COUNT, "answers counted that must not be; none may"),
    "converters": Unit(COUNT, "devices that answer and must not; none may"),
    "frames": Unit(COUNT, "frames that open and must not; none may"),
    "brokers": Unit(COUNT, "brokers spoken to that must not be; none may"),
    "stories": Unit(COUNT, "forged memories believed; none may be"),
    "exceptions": Unit(FACT, "0 if it is so, 1 if not", "it is not so"),
    "writes": Unit(FACT, "writes to flash until it ends; fewer are better", drawn="writes used"),
    "probability": Unit(
        FACT, "the chance of an alarm without a fault; less is better", drawn="false alarms"
    ),
    "claimed / found": Unit(
        WASTE,
        "what the noise is made for over what was found; near 1 wastes nothing",
        "the noise is made for {proven} times what is there, for nothing",
        "noise for nothing",
    ),
    "variance given / asked": Unit(
        WASTE,
        "the noise planned over the noise needed, squared; near 1 wastes nothing",
        "the noise is {more} times what is needed",
        "noise planned, over noise needed",
    ),
    "variance found / promised": Unit(
        WASTE,
        "the noise found over the noise promised, squared; near 1 wastes nothing",
        "the noise is {more} times what is promised at least",
        "noise found, over noise promised",
    ),
    "sigmas promised / found": Unit(
        WASTE,
        "the distance promised over the one seen; near 1 wastes nothing",
        "readings are {times} times harder to tell apart than is promised",
        "distance promised, over found",
    ),
    "ours / truth": Unit(
        WASTE,
        "the number that is reckoned over the true one; near 1 wastes nothing",
        "what is reckoned is {proven} times the truth",
        "what is reckoned, over truth",
    ),
}
