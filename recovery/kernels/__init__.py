"""Inner loops, run as they are or compiled: numba is an accelerator, never a condition.

They are files of this folder, in the part of Python that numba understands, without decorators
and without another kernel beneath. Whoever calls one says whether the work is worth the loading
of a compiler:

    kernel = compile_if_worth(kernels.flow, worth=cells > 1000)
    kernel.shortest(...)

Both ways run the same lines, so they give the same answer but for the order of roundings. The
first compilation on a machine takes up to twenty seconds of a processor and is kept beside the
source, or in the user's cache where that cannot be written; loading what was kept takes a tenth
of a second.
"""

import importlib.util
import os
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any, TypeVar, cast

_PARTS = ("linalg", "optimize", "sparse.linalg", "spatial.distance", "special", "stats")


def load_scipy() -> None:
    """Load what a map needs of scipy, before the clock of a map runs; again costs nothing.

    A gateway loads none of it, for it plans and draws nothing; who draws maps under a time limit
    wants it all at once, and not a second of it within the first map.
    """
    for part in _PARTS:
        import_module(f"scipy.{part}")


_Module = TypeVar("_Module", bound=ModuleType)

_loaded: set[str] = set()
_listeners: list[Callable[[bool], None]] = []


def listen_for_compiling(listener: Callable[[bool], None]) -> None:
    """Call `listener(True)` where a compilation begins, and `listener(False)` where it is over.

    For who times the work: a compilation takes seconds, once on a machine. Loading what was
    kept is none. Listeners that come after the first kernel are not heard.
    """
    _listeners.append(listener)


@cache
def _listen() -> None:
    """Pass on what numba says, to those who listen."""
    if not _listeners:
        return
    from numba.core import event

    class Ear(event.Listener):
        depth = 0  # a function that calls others has them compiled meanwhile

        def on_start(self, event: Any) -> None:
            self.depth += 1
            if self.depth == 1:
                for listener in _listeners:
                    listener(True)

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            if self.depth == 0:
                for listener in _listeners:
                    listener(False)

    event.register("numba:compile", Ear())  # type: ignore[no-untyped-call]


def can_compile() -> bool:
    """Say whether numba is installed, and not switched off by HEATVEIL_COMPILED=0."""
    off = os.environ.get("HEATVEIL_COMPILED") == "0"
    return not off and importlib.util.find_spec("numba") is not None


def compile_if_worth(module: _Module, worth: bool) -> _Module:
    """Return the module's functions, compiled where that is worth it or already done.

    Args:
        module: one of this folder.
        worth: the work at hand takes longer than loading a compiler, about half a second.
    """
    if module.__name__ in _loaded or (worth and can_compile()):
        return make_compiled_twin(module)
    return module


@cache
def make_compiled_twin(module: _Module) -> _Module:
    """Return a twin of the module, each of whose functions is compiled when first called.

    Without numba the module itself. A kernel imports no other kernel: what numba has kept is
    thrown away when the file itself changes, and only then.
    """
    if not can_compile():
        return module
    import numba

    _listen()
    name = module.__name__
    spec = importlib.util.spec_from_file_location(f"{name}__compiled", module.__file__ or "")
    if spec is None or spec.loader is None:
        raise ImportError(
            f"{name} has no source file to compile but kernels must be files: numba reads them. "
            "Install heatveil unpacked."
        )
    twin = importlib.util.module_from_spec(spec)
    # numba finds what it kept by the module's name.
    sys.modules[spec.name] = twin
    spec.loader.exec_module(twin)
    for key, thing in list(vars(twin).items()):
        if isinstance(thing, FunctionType):
            setattr(twin, key, numba.njit(cache=True, error_model="numpy", nogil=True)(thing))
    _loaded.add(name)
    return cast(_Module, twin)
