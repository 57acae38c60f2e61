"""What the audit must know of a mechanism, which brings it as `recovery/<name>/cases.py`.

Two kinds. A mechanism that adds noise is judged by its sensitivity and by the law of the noise;
a finite one by the weight of each answer to each input, all of them enumerated. Each is audited by
standing in the table of mechanisms: no layer knows a mechanism by name.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from types import ModuleType
from typing import Any, Protocol


class Found(Protocol):
    """The two neighbours that a search found to differ most, in the whole numbers sent."""

    @property
    def before(self) -> tuple[int, ...]: ...

    @property
    def after(self) -> tuple[int, ...]: ...

    @property
    def where(self) -> str:
        """In words."""

    @property
    def tried(self) -> int:
        """How many moves and backgrounds."""


class Asked(Protocol):
    """What the layers ask of real devices of a mechanism, honestly and not, and at which price.

    Reckoned from what is promised and not by the device's own arithmetic, in exact fractions.
    SENSORS: how many one device may read here. CONVERTED: whether they have a converter's steps.
    DRAWS: the module of edge whose `draw` a device calls.
    """

    SENSORS: int
    CONVERTED: bool

    @property
    def DRAWS(self) -> ModuleType: ...  # noqa: N802

    def measure_draw(self, round: Any, drawn: Any) -> float:
        """Return how far what was drawn leads from what is true; usually about 1."""

    def vary_round(self, round: Any, number: int) -> Any:
        """Return a Round within the same limits, which what lies ready for this one is not for."""

    def find_mode(self, round: Any) -> str:
        """Return the mode of the devices that a Round is for: sealed or keyholder."""

    def list_modes(self, round: Any) -> Sequence[tuple[str, Any]]:
        """Return every mode of such devices, each with this Round for them."""

    def widen_clamp(self, round: Any) -> Any:
        """Return the Round, so that what is tried here comes near no clamp of it."""

    def make_limits(self, round: Any, budget: int) -> Any:
        """Return the first `Limits` of a device that lets just this through, for nano-rho."""

    def compute_cost(self, round: Any, held: Any) -> Fraction:
        """Return the nano-rho that an answer costs at the least under these limits, exactly."""

    def make_readings(self, round: Any, number: int, sensors: int) -> tuple[int, ...]:
        """Return what a device's sensors may hold, something else for every number."""

    def list_impossible(self, round: Any, sensor: int) -> Sequence[Sequence[int]]:
        """Return payloads that no device of this sensor gives."""

    def forge_round(self, round: Any, rng: Any, newest: int) -> Any:
        """Return a Round near this one, most of them worse; newest is the last one answered."""

    def list_violations(
        self, asked: Any, held: Any, mode: str, sensor: int, newest: int
    ) -> Iterable[str]:
        """Yield why a device of these limits should not have answered a Round; none if it may."""

    def vary_limits(self, held: Any, rng: Any) -> Any:
        """Return limits near these, looser or tighter."""

    def list_loosened(self, old: Any, new: Any) -> Sequence[str]:
        """Return in what new limits protect less than old ones."""

    def unveil(self, round: Any, payload: Any, rng: Any) -> Any:
        """Return the Reading in a payload, to who holds the key; where a mode is keyholder."""


class Blurring(Protocol):
    """A mechanism whose `report` is what a device holds, plus noise on some of its numbers.

    NAME: of the mechanism. KIND: "noise". asked: what its devices are asked.
    """

    NAME: str
    KIND: str

    @property
    def asked(self) -> Asked: ...

    def list_queries(self) -> Iterable[tuple[str, Any]]:
        """Yield queries that can be tried to the end, named, each there for some fault."""

    def find_neighbours(self, query: Any, round: Any) -> tuple[Any, Any]:
        """Return the whole-number readings of two neighbours that are hard to hide."""

    def list_readings(self, round: Any) -> Sequence[Any]:
        """Return readings that a device may hold, the extremes and beyond included."""

    def split_payload(self, round: Any, reading: Any) -> tuple[list[int], list[int]]:
        """Return the numbers of a payload that get no noise, and then those that do."""

    def find_noise(self, round: Any) -> tuple[str, tuple[int, ...]]:
        """Return the sampler whose law each of those numbers gets, and its arguments."""

    def find_sensitivity(self, round: Any) -> Fraction:
        """Return the sensitivity that the round was priced for: squared l2 for a Gaussian."""

    def search_neighbours(self, query: Any, round: Any, rng: Any, tries: int) -> Found:
        """Return the neighbours that differ most, found by trying, independent of the plan."""

    def calibrate_query(self, query: Any) -> Any:
        """Return the calibration that a query is planned with."""

    def list_following(self) -> Iterable[tuple[str, Any]]:
        """Yield queries, named, whose devices may take off levels that follow their readings."""

    def make_follower(self, query: Any) -> Any:
        """Return a new `edge.core.background.Follower` of a device, or None where none follows."""

    def list_tabled(self) -> Sequence[Any]:
        """Return queries whose noise comes from tables."""


class Weighed(Protocol):
    """A mechanism whose `report` is one draw by weights, from too many numbers to try each.

    NAME: of the mechanism. KIND: "finite". Neighbours are any two inputs. Its device half has the
    two parts of `report`: a draw that knows no reading, and a veil that draws nothing. All answers
    together are a law in whole numbers, which the Round states. asked: what its devices are asked.
    """

    NAME: str
    KIND: str

    @property
    def asked(self) -> Asked: ...

    def list_queries(self) -> Iterable[tuple[str, Any]]:
        """Yield queries, named, whose answers can all be enumerated through `report`."""

    def list_readings(self, round: Any) -> Sequence[Any]:
        """Return all readings that a device may hold."""

    def list_sweeps(self, full: bool) -> Iterable[tuple[str, Sequence[Any]]]:
        """Yield families of queries of one epsilon a report, named, to be enumerated all."""

    def price_answer(self, round: Any) -> Fraction:
        """Return the epsilon that a device takes one answer to cost."""

    def list_bad_rounds(self, round: Any) -> Iterable[tuple[str, Any]]:
        """Yield rounds that ask for more than this one, which such a device must refuse."""

    def make_draw(self, round: Any) -> Callable[[Any], Any]:
        """Return the device's draw for a round: called with an rng, it returns what is drawn."""

    def make_payload(self, round: Any, reading: Any, drawn: Any) -> Any:
        """Return the device's payload for a reading once this was drawn, as a tuple."""

    def find_weights(self, round: Any) -> Callable[[Any], Mapping[Any, int]]:
        """Return what gives each payload's weight for a reading, by what the Round says."""


class Shared(Protocol):
    """A mechanism whose devices bring the noise of a sum together.

    NAME: of the mechanism. KIND: "distributed". Of a Round's params the layer reads what all sums
    have: replace, epsilon, shards, threshold, colluders and bits, from the second on.
    """

    NAME: str
    KIND: str

    def list_queries(self) -> Iterable[tuple[str, Any]]:
        """Yield queries, named, whose shards are small."""

    def list_readings(self, round: Any) -> Sequence[Any]:
        """Return readings that a device may hold."""

    def is_replacement(self, query: Any) -> bool:
        """Return whether neighbours are any two inputs, or any input and none."""

    def list_rates(self, query: Any, round: Any) -> Sequence[Fraction]:
        """Return epsilon over sensitivity of each number of a report."""

    def make_silent(self, round: Any, count: int) -> tuple[Any, Any]:
        """Return a Round with so many numbers, if that can be, and a reading without marks."""

    def list_bad_rounds(self, round: Any) -> Iterable[tuple[str, Any]]:
        """Yield rounds that mean nothing, which such a device must refuse."""


class Central(Protocol):
    """A mechanism whose gateway is trusted: devices tell the truth, and `release` blurs it.

    NAME: of the mechanism. KIND: "central". Neighbours: one user's input is another one, or is
    that of a user who is absent, where there is such an input.
    """

    NAME: str
    KIND: str

    def list_queries(self) -> Iterable[tuple[str, Any]]:
        """Yield queries, named, each there for some fault; small, for every crowd is tried."""

    def list_readings(self, round: Any) -> Sequence[Any]:
        """Return a few readings that a device may hold, the extremes and beyond included."""

    def find_absent(self, round: Any) -> int | None:
        """Return the index in `list_readings` of nobody's; None where each user may change."""

    def compute_sums(self, round: Any, payloads: Sequence[Sequence[int]]) -> Sequence[int]:
        """Return the whole numbers that a release blurs, before any noise."""

    def list_scales(self, round: Any) -> Sequence[tuple[int, int]]:
        """Return the scale of the discrete Laplace noise of each of them, for five users."""

    def choose_released(self, round: Any, values: Sequence[int]) -> Sequence[int]:
        """Return which of these a release of such values holds, in order: by the values alone."""


Subject = Blurring | Weighed | Shared | Central
