"""What is public and stable of heatveil, under one name; everything else may move.

>>> import heatveil
>>> import numpy as np

**A map of warmth.** Four verbs, and all of them in one call; `Tape` is for experiments, `sealed`
draws what nobody can repeat, `keyed` what the holder of a key can:

>>> line = heatveil.Grid(shape=(100, 1), cell_mm=0)  # the unit interval in a hundred cells
>>> query = heatveil.ThermalQuery(line, sensors=(50,), spread_m2=0.05, epsilon=(4, 1))
>>> asked = heatveil.plan(query)
>>> rng = heatveil.Tape(b"an experiment")
>>> warm = heatveil.forward(np.array([0.3]), np.arange(1, 51) / 50, 0.05)[:, 0]
>>> grains = [int(one * 2**asked.params[1]) for one in warm]
>>> readings = [heatveil.Reading(at, (value,)) for at, value in enumerate(grains)]
>>> payloads = [heatveil.report(asked, reading, rng) for reading in readings]
>>> release = heatveil.release(asked, payloads)
>>> found = heatveil.recover(query, [release])
>>> isinstance(found, heatveil.Heatmap) and not isinstance(found, heatveil.Unresolved)
True
>>> isinstance(found.guarantee, heatveil.Guarantee)  # what is promised goes with every map
True
>>> found.guarantee.epsilon, abs(int(found.mass.argmax()) - 29) < 5, found.expected_error < 0.1
((4, 1), True, True)

**Maps of people.** Each mechanism has a query of its own, and `MECHANISMS` holds them all:

>>> square = heatveil.Grid(shape=(8, 8), cell_mm=0)
>>> queries = [
...     heatveil.DiskQuery(square, (2, 1)),
...     heatveil.QuadtreeQuery(square, (2, 1), "zero-out", users=1000),
...     heatveil.PyramidQuery(square, (2, 1), users=1000),
...     heatveil.PyramidSumQuery(square, (2, 1), users=1000),
...     heatveil.RanksQuery(square, (2, 1), users=1000),
... ]
>>> [heatveil.plan(query).mechanism for query in queries]
['disk', 'quadtree', 'pyramid', 'pyramid_sum', 'ranks']
>>> disk = heatveil.find_mechanism("disk")
>>> people = [heatveil.Reading(device, (2, 5)) for device in range(2000)]
>>> found = heatveil.play(disk, queries[0], lambda round: people, rng)
>>> divmod(int(found.mass.argmax()), 8)
(5, 2)

No such mechanism or file is an `OperatorFault`; any other wrong value a `ValueError`:

>>> try:
...     heatveil.find_mechanism("dsk")
... except heatveil.OperatorFault as fault:
...     print(fault)
dsk is not a mechanism of heatveil; did you mean disk?

One more is added by `register_mechanism(Mechanism(...))`, with a query class and a name in its
Rounds that are its own:

>>> class Mine(heatveil.DiskQuery):
...     pass
>>> def ask(query, releases):
...     return disk.plan(query, releases)._replace(mechanism="mine")
>>> mine = dict(vars(disk), name="mine", query=Mine, plan=ask)
>>> mine |= dict(tables={}, refused_keys={}, live_keys={})
>>> heatveil.register_mechanism(heatveil.Mechanism(**mine))
>>> heatveil.MECHANISMS[-1].name, heatveil.plan(Mine(square, (2, 1))).mechanism
('mine', 'mine')

**Estimators.** All get a `Seen`, with the `Prior` in it, and return an `Estimate`:

>>> places = np.arange(1, 101)[:, None] / 100
>>> operator = heatveil.forward(places[:, 0], np.arange(1, 51) / 50, 0.05)
>>> seen = heatveil.Seen(operator, warm, 0.1, places, (1, 100), heatveil.Prior(1, 1))
>>> sorted(heatveil.ESTIMATORS)[:3]
['auto', 'entropy', 'l1']
>>> isinstance(heatveil.estimate("entropy", seen), heatveil.Estimate)
True

One's own is a function; `study` holds it beside the others, with `plot` for a picture:

>>> @heatveil.register_estimator("warmest sensor")
... def warmest(seen):
...     heat = np.zeros(len(seen.places))
...     heat[2 * seen.readings.argmax() + 1] = 1
...     return heat
>>> rows = heatveil.study(["entropy", "warmest sensor"], {"one": 1}, [4], trials=2)
>>> [row.estimator for row in rows if row.error < row.blind]
['entropy', 'warmest sensor']

**Heat and sparse recovery**, as in the paper:

>>> heatveil.heat_kernel(np.array([0.0, 1.0]), 0.25).round(4)
array([0.5642, 0.2076])
>>> round(heatveil.sensitivity(operator), 3)
0.136
>>> heatveil.minimise_l1(operator, warm, radius=0.5).status
'optimal'

**Distances** between maps:

>>> p, q = np.array([0.5, 0.5, 0, 0]), np.array([0, 0.5, 0.5, 0])
>>> heatveil.earth_movers(p, q), heatveil.wasserstein2(p, q)
(0.25, 0.25)
>>> heatveil.similarity(p, q), heatveil.pearson(p, q), heatveil.kl(p, p) < 1e-9
(0.5, 0.0, True)

**Exact noise**, in whole numbers; every law takes a ratio, num and den:

>>> keys = heatveil.sealed(bytes(32)), heatveil.keyed(bytes(32), "attic", 1, 1, 0)
>>> [0 <= one.below(6) < 6 for one in keys]
[True, True]
>>> heatveil.coin(1, 2, rng) in (True, False), heatveil.exp_coin(1, 2, rng) in (True, False)
(True, True)
>>> draws = heatveil.geometric, heatveil.dlaplace, heatveil.dgauss
>>> all(isinstance(draw(1, 2, rng), int) for draw in draws)
True
>>> heatveil.polya(3, 1, 2, rng) >= 0
True

**Files, and a day in a room**:

>>> from pathlib import Path
>>> from tempfile import TemporaryDirectory
>>> room = '''
... [room]
... name = "small"
... size_m = [5.0, 3.0]
... height_m = 2.7
... cell_mm = 250
... start = "08:00"
... duration_h = 6
... step_s = 120
...
... [[person]]
... name = "Ada"
... activity = "office"
... path = [["10:10", 1.0, 1.0], ["14:00", "stay"]]
...
... [thermometers]
... kind = "tmp117"
... count = [4, 3]
... '''
>>> with TemporaryDirectory() as folder:
...     heatveil.to_npz(found, Path(folder, "map.npz"))
...     (heatveil.from_npz(Path(folder, "map.npz")).mass == found.mass).all()
...     _ = Path(folder, "room.toml").write_text(room)
...     heatveil.simulate(Path(folder, "room.toml"), seed=1).lived.warmth_k.shape
np.True_
(97, 12, 20)
>>> heatveil.__version__.count(".")
2
"""

import ast
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

_HERE = Path(__file__).resolve().parent
# What heatveil is made of, installed beside it under these names.
_ROOMS = ("edge", "physics", "recovery", "gateway")


def _refuse_strangers() -> None:
    """Refuse to work with packages that have our names and are somebody else's.

    Raises:
        ImportError: one is.
    """
    for name in _ROOMS:
        spec = getattr(sys.modules.get(name), "__spec__", None) or find_spec(name)
        origin = Path(spec.origin).resolve() if spec is not None and spec.origin else None
        if origin is None or origin.parent != _HERE.parent / name:
            where = "nowhere" if origin is None else f"at {origin}"
            raise ImportError(
                f"the package {name} was found {where} but heatveil needs its own, at "
                f"{_HERE.parent / name}: with another it would compute something else. Rename "
                "yours, or start Python where it is not seen, such as in an environment or a "
                "folder of its own.",
                name=name,
            )


_refuse_strangers()
# Public name: module, and the name there. One list, which type checkers read as it is.
_HOMES = {
    alias.asname: (node.module, alias.name)
    for node in ast.parse((_HERE / "__init__.pyi").read_text("utf-8")).body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}
__all__ = ["__version__", *_HOMES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, there = _HOMES[name]
    return getattr(import_module(module), there)


def __dir__() -> list[str]:
    return sorted(__all__)
