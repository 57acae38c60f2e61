"""Crowds in squares within squares, whose secure sums are simulated; the mechanism's record.

It is played in memory alone: without `serving` it is refused wherever devices would answer.
"""

from edge.mechanisms import quadtree as device
from recovery import quadtree as analyst
from recovery.quadtree import cases
from recovery.quadtree.query import Query

from ..record import Mechanism, Module

_crowd = Module(__name__, "crowd")
_words = Module(__name__, "words")

MECHANISM = Mechanism(
    device.NAME,
    analyst.plan,
    device.report,
    _crowd.release,
    analyst.recover,
    cases,
    trust="distributed",
    reads="place",
    query=Query,
    bits=lambda round: 16 if device.params_of(round).bits <= 16 else 32,
    vector_length=lambda round: device.length(device.params_of(round)),
    query_of=_crowd.query_of,
    world=_crowd.crowd_of,
    reporter=_crowd.reporter,
    judge=_words.judge,
    picture=_words.picture,
)
