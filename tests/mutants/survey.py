"""Every comparison, operator and whole number on the way of a reading, mutated one at a time.

The tables beside this file hold mistakes that somebody thought of; here a program makes them, so
that a guard is held to what nobody thought of. `survey.toml` names the modules, the tests and the
rule of what is on the way; its last part says of survivors, class by class, why they do no harm.
What survives and is not argued there is printed, to be looked at.

    python -m tests.mutants.survey                        all of it
    python -m tests.mutants.survey --only budget --again  one module, what was not seen before

Everything is imported once, and for each test and each layer of the audit it is noted which lines
it reaches. For each mistake a child is forked, in which the code of one function is changed, or a
name of a module; it runs what reaches the line, the likeliest first, up to the first that fails.
Whatever takes much longer than it did counts as a failure. The audit is asked of one mistake in
`--audit`, chosen by chance, and of all that no test saw. What each is given of computing is
bounded, so its rate is a least one; `--longer` gives more.

What was found is kept in bench-results/survey.jsonl, and what is there is not tried again.
"""

import argparse
import contextlib
import gc
import json
import os
import re
import resource
import select
import signal
import sys
import threading
import time
import types
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, settings

from gateway.audit.claim import Effort
from gateway.audit.layers import LAYERS, Layer, list_tasks
from gateway.mechanisms import MECHANISMS
from tests.mutants import trial
from tests.mutants.changes import Mistake, surveyed
from tests.mutants.planting import ROOT, sources

FOUND = ROOT / "bench-results" / "survey.jsonl"
REACHED = FOUND.with_suffix(".lines.json")
TESTS_S, AUDIT_S = 1.5, 3.0  # of computing, for the tests of one mistake and for its layers
ENOUGH = 5000  # lines of a function that are noted, for that is slow
GRACE_S = 0.5  # for one of them, beyond what it takes while its lines are noted
SAW: Counter[tuple[str, str]] = Counter()  # how often in a function, so who is asked first


def argue(data: dict[str, Any]) -> Callable[[str], bool]:
    """Return what tells whether a survivor is argued to do no harm."""
    held = [re.compile(one) for row in data["harmless"] for one in row["changes"]]
    return lambda key: any(one.search(key) for one in held)


class Guard(NamedTuple):
    """A test, or a layer with a mechanism: its name, whether it passes, and what it does."""

    name: str
    passes: Callable[[], bool]


class Survey:
    """A plug-in of pytest that does something with the tests that it collected, and ends."""

    def __init__(self, then: Callable[[list[Guard]], None]) -> None:
        self.then = then

    def pytest_sessionstart(self) -> None:
        """Let hypothesis look for the same examples each time, and not for smaller ones."""
        phases = (Phase.explicit, Phase.generate)
        settings.register_profile(
            "survey", deadline=None, phases=phases, derandomize=True, database=None
        )
        settings.load_profile("survey")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.then([Guard(item.nodeid, partial(passes, item)) for item in session.items])
        return True


def passes(item: pytest.Item) -> bool:
    """Run a test, without the report that takes longer than most, and return if it passes."""
    hooks, passed = item.ihook, True
    try:
        hooks.pytest_runtest_setup(item=item)
        hooks.pytest_runtest_call(item=item)
    except pytest.skip.Exception:
        pass
    except BaseException:
        passed = False
    with contextlib.suppress(Exception):  # tmp_path wants the report
        hooks.pytest_runtest_teardown(item=item, nextitem=None)
    return passed


def layers() -> list[Guard]:
    """Return the audit's layers, each with a mechanism that it looks at."""
    found = []
    for layer, mechanism in list_tasks(MECHANISMS, LAYERS, None):
        name = f"{layer.name} {mechanism.name if mechanism else ''}".strip()
        found.append(Guard(name, partial(holds, layer, mechanism)))
    return found


def holds(layer: Layer, mechanism: Any) -> bool:
    """Return whether all that a layer claims of a mechanism holds."""
    return all(claim.holds for claim in layer.run(mechanism, Effort(first=True)))


def forked(child: Callable[[Callable[[str], None]], None], most_s: float) -> list[str]:
    """Return the words that a child said, each in a line, until it ended or was stopped."""
    ours, theirs = os.pipe()
    process = os.fork()
    if process == 0:
        status = 1
        try:
            os.setsid()
            os.close(ours)
            nothing = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(nothing, number)
            resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30))
            child(lambda words: (os.write(theirs, f"{words}\n".encode()), None)[1])
            status = 0
        finally:
            os._exit(status)
    os.close(theirs)
    said, late = b"", time.monotonic() + most_s
    while (left := late - time.monotonic()) > 0:
        if select.select([ours], [], [], left)[0]:
            piece = os.read(ours, 1 << 16)
            if not piece:
                break
            said += piece
    os.close(ours)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return said.decode().splitlines()


def reach(guard: Guard, files: set[str], most_s: float) -> dict[str, Any]:
    """Return whether a guard passes as all is, how long it takes, and what lines it reaches."""

    def child(say: Callable[[str], None]) -> None:
        reached: dict[str, set[int]] = defaultdict(set)
        began = time.process_time()

        noted: Counter[types.CodeType] = Counter()

        def note(frame: Any, event: str, _: Any) -> Any:
            if event == "line":
                reached[frame.f_code.co_filename].add(frame.f_lineno)
            noted[frame.f_code] += 1
            return note if noted[frame.f_code] < ENOUGH else None

        def enter(frame: Any, *_: Any) -> Any:
            code = frame.f_code
            return note if code.co_filename in files and noted[code] < ENOUGH else None

        def end(*_: Any) -> None:
            sys.settrace(None)
            took = time.process_time() - began
            lines = {file: sorted(each) for file, each in reached.items()}
            say(json.dumps({"passes": passes, "seconds": took, "lines": lines}))
            os._exit(0)

        passes: bool | None = None  # it is longer than that
        signal.signal(signal.SIGPROF, end)
        signal.setitimer(signal.ITIMER_PROF, most_s)
        threading.settrace(enter)
        sys.settrace(enter)
        try:
            passes = guard.passes()
        finally:
            end()

    said = forked(child, 60 + 10 * most_s)
    found: dict[str, Any] = json.loads(said[-1]) if said else {"passes": False, "lines": {}}
    return found


def reaches(guards: Iterable[Guard], most_s: float) -> dict[str, dict[str, Any]]:
    """Return what lines each guard reaches, and say which do not pass as all is."""

    def stamp(*paths: Path) -> int:
        return zlib.crc32(b"".join(path.read_bytes() for path in paths))

    ours = stamp(*(ROOT / file for file in sources()))
    kept = json.loads(REACHED.read_text()) if REACHED.exists() else {}
    known = {}
    files = {str(ROOT / file) for file in sources()}
    for guard in guards:
        tests = ROOT / guard.name.partition("::")[0]
        stamps = [ours, stamp(tests) if tests.is_file() else 0]
        known[guard.name] = kept.get(guard.name, {})
        if known[guard.name].get("stamps") != stamps:
            known[guard.name] = reach(guard, files, most_s) | {"stamps": stamps}
            if known[guard.name]["passes"] is False:
                print(f"does not pass as all is: {guard.name}", file=sys.stderr, flush=True)
            if not len(known) % 100:
                REACHED.write_text(json.dumps(kept | known))
                print(f"reached by {len(known)}", file=sys.stderr, flush=True)
    REACHED.write_text(json.dumps(kept | known))
    return {name: one for name, one in known.items() if one.get("lines")}


def changed(mistake: Mistake) -> types.CodeType | None:
    """Return the code of a module with a mistake, or None where it is not Python any more."""
    text = sources()[mistake.file]
    new = text[: mistake.start] + mistake.new + text[mistake.end :]
    with contextlib.suppress(SyntaxError):
        code: types.CodeType = compile(new, str(ROOT / mistake.file), "exec")
        return code
    return None


def ask(guards: Iterable[tuple[Guard, float, bool]], most_s: float) -> Iterator[str]:
    """Yield the name of what is asked next, and at last "seen" or nothing of it is.

    One that takes longer than there is time, which a "?" says, sees nothing when it is stopped.
    """
    left = most_s
    for guard, seconds, ends in guards:
        if left <= 0:
            return
        yield guard.name if ends else f"? {guard.name}"
        signal.setitimer(signal.ITIMER_PROF, seconds + GRACE_S if ends else left)  # our end
        began = time.process_time()
        try:
            passes = guard.passes()
        except BaseException:
            passes = False
        if not passes:
            yield "seen"
            return
        left -= time.process_time() - began


def judge(said: list[str]) -> str:
    """Return who saw a mistake, from what a child said: the last that it named, or nobody."""
    if not said:
        return "start"
    if said[-1] == "done" or said[-1].startswith("?"):
        return ""
    return said[-2].removeprefix("? ") if said[-1] == "seen" else said[-1]


def users(name: str) -> dict[str, set[int]]:
    """Return the lines, by files, that a name stands in."""
    word = re.compile(rf"\b{name}\b")
    return {
        str(ROOT / file): {at for at, line in enumerate(text.splitlines(), 1) if word.search(line)}
        for file, text in sources().items()
        if name in text
    }


def look(
    guards: Iterable[Guard], lines: dict[str, Any], mistake: Mistake
) -> list[tuple[Guard, float, bool]]:
    """Return the guards that reach a mistake, the quickest first: their time, and if they end."""
    file, (first, last) = str(ROOT / mistake.file), mistake.reach
    wanted = users(mistake.name) if mistake.name else {file: set(range(first, last + 1))}

    def chosen(wanted: dict[str, set[int]]) -> list[tuple[Guard, float, bool]]:
        return [
            (guard, float(one["seconds"]), one["passes"] is not None)
            for guard in guards
            if (one := lines.get(guard.name)) and one["passes"] is not False
            if any(not at.isdisjoint(one["lines"].get(which, ())) for which, at in wanted.items())
        ]

    found = chosen(wanted) or (chosen({file: set(range(1, 9999))}) if mistake.name else [])
    own = Path(mistake.file).stem

    def late(one: tuple[Guard, float, bool]) -> float:
        """Prefer who is quick, about this module, or has seen such a mistake before."""
        name = one[0].name
        return (one[1] + 0.02) / (4 if own in name else 1) / (1 + SAW[mistake.where, name])

    return sorted(found, key=late)


def within(
    mistake: Mistake,
    code: types.CodeType,
    most_s: float,
    chosen: list[tuple[Guard, float, bool]],
    functions: dict[trial.Place, list[types.FunctionType]],
) -> str:
    """Return which of these sees a mistake, with this code of its module."""

    def child(say: Callable[[str], None]) -> None:
        for one in trial.everything(code):
            for each in functions.get(trial.place(one), ()):
                with contextlib.suppress(ValueError):  # other free names: it is made anew
                    each.__code__ = one
        if mistake.name:
            give(mistake.file.removesuffix(".py").replace("/", "."), code)
        for words in ask(chosen, most_s):
            say(words)
            if words == "seen":
                return
        say("done")

    return judge(forked(child, 30 + 15 * most_s)) if chosen else ""


def give(name: str, code: types.CodeType) -> None:
    """Give a module, and all that took them from it, the values that it has by this code."""
    module = sys.modules[name.removesuffix(".__init__")]
    before = vars(module)
    after = {key: before[key] for key in ("__name__", "__package__", "__file__", "__spec__")}
    exec(code, after)
    for key, value in after.items():
        old = before.get(key)
        if callable(value) or key.startswith("__") or repr(value) == repr(old):
            continue
        for other in list(sys.modules.values()):
            if getattr(other, "__dict__", {}).get(key) is old:
                setattr(other, key, value)


def known() -> dict[str, dict[str, str]]:
    """Return what was found before: who saw a mistake, of the tests and of the audit."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for row in FOUND.read_text().splitlines() if FOUND.exists() else []:
        key, kind, saw = json.loads(row)
        found[key][kind] = saw
    return found


def sample(key: str) -> int:
    """Return a number that is as good as drawn, and always the same for a mistake."""
    return zlib.crc32(key.encode())


def report(every: list[Mistake], data: dict[str, Any], one_in: int) -> None:
    """Print how many were seen, by whom, and which were not."""
    total: dict[str, Counter[str]] = defaultdict(Counter)
    argued, found = argue(data), known()
    left = []
    for mistake in every:
        key, one = mistake.key, found[mistake.key]
        if not one:
            continue
        seen = bool(one.get("tests") or one.get("audit"))
        asked = "audit" in one and sample(key) % one_in == 0
        for name in (mistake.file, "all"):
            total[name].update(
                tried=1,
                tests=bool(one.get("tests")),
                either=seen,
                argued=not seen and argued(key),
                audited=asked,
                audit=asked and bool(one["audit"]),
            )
        if not seen and not argued(key):
            left.append(key)
    print(f"{'':<36}  tried   tests  either  argued  audited  audit")
    for name in sorted(total, key=lambda name: (name == "all", name)):
        each = total[name]
        words = "".join(
            f"{each[who] / each['tried']:>8.1%}" for who in ("tests", "either", "argued")
        )
        share = each["audit"] / max(each["audited"], 1)
        print(f"{name:<36} {each['tried']:>6}{words}  {each['audited']:>7}{share:>7.1%}")
    print(f"of {len(every)} changes there are\n\n{len(left)} seen by nothing, and not argued:")
    print(*sorted(left), sep="\n")


def main() -> None:
    """Ask the tests and then the audit of what they were not asked before, and report."""
    words = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    words.add_argument("--only", default="", help="modules of whose names this is a part")
    words.add_argument("--most", type=int, help="so many, chosen by chance")
    words.add_argument("--again", action="store_true", help="what nothing saw, nor was argued")
    words.add_argument("--audit", type=int, default=20, help="asked of one in so many")
    words.add_argument(
        "--longer", type=float, default=1.0, help="times so much computing for each"
    )
    words.add_argument("--report", action="store_true", help="what was found before, and no more")
    asked = words.parse_args()
    data, every, _ = surveyed()
    if asked.report:
        return report(every, data, asked.audit)
    FOUND.parent.mkdir(exist_ok=True)
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    os.chdir(ROOT)
    every = [one for one in every if asked.only in one.file]
    every = sorted(every, key=lambda one: sample(one.key))[: asked.most]
    argued = argue(data)

    def wanted(kind: str) -> list[Mistake]:
        found = known()

        def of(one: Mistake) -> bool:
            before = found[one.key]
            missed = not before.get("tests") and not before.get("audit") and not argued(one.key)
            if kind in before:
                return asked.again and missed
            return kind == "tests" or sample(one.key) % asked.audit == 0 or missed

        return [one for one in every if of(one)]

    def then(tests: list[Guard]) -> None:
        audit = [one for one in layers() if one.name not in data["skipped"]]
        held = trial.functions()
        gc.freeze()  # or a child copies whatever it collects
        for kind, guards, most_s in (
            ("tests", tests, asked.longer * TESTS_S),
            ("audit", audit, asked.longer * AUDIT_S),
        ):
            lines = reaches(guards, 2 * (TESTS_S if kind == "tests" else AUDIT_S))
            for one in wanted(kind):
                if code := changed(one):
                    saw = within(one, code, most_s, look(guards, lines, one), held)
                    SAW[one.where, saw] += 10
                    with FOUND.open("a") as file:
                        file.write(json.dumps([one.key, kind, saw]) + "\n")
                    print(one.key, kind, saw or "NOT SEEN", file=sys.stderr, flush=True)
        report(every, data, asked.audit)

    options = ["-p", "no:cacheprovider", "-o", "timeout=0", "--assert=plain", "-m", "not long"]
    pytest.main([*options, *data["tests"]], plugins=[Survey(then)])


if __name__ == "__main__":
    main()
