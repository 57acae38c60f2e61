"""The promise in JSON and in words."""

import pytest

from edge.core.records import Guarantee
from recovery.maps.guarantee import from_json, sentences, to_json

LOCAL = Guarantee(
    (1, 1), (1, 10), (7, 900), "one source moves by 1 m", "local", "one reading", "presence"
)


@pytest.mark.parametrize("promise", [LOCAL, LOCAL._replace(epsilon=None, delta=None, rho=(1, 8))])
def test_a_promise_survives_json_with_its_exact_ratios(promise: Guarantee) -> None:
    """A ratio that became a float on the way would be another promise."""
    assert from_json(to_json(promise)) == promise


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "null", '{"epsilon": [1, 2]}', to_json(LOCAL).replace("[1, 1]", "0.5")],
)
def test_anything_else_is_refused(text: str) -> None:
    """A float where a ratio is meant, above all."""
    with pytest.raises(ValueError, match="a map without its promise is not shown"):
        from_json(text)


def test_the_words_hold_everything_that_was_promised() -> None:
    """Nothing the record says may be lost on the way to a reader."""
    words = " ".join(sentences(LOCAL))

    for part in (LOCAL.neighbours, LOCAL.trust, LOCAL.unit, LOCAL.unprotected, "1/10", "2.72"):
        assert part in words


def test_a_promise_in_another_currency_makes_no_claim_in_this_one() -> None:
    """Without an epsilon no odds are named."""
    assert "odds" not in " ".join(sentences(LOCAL._replace(epsilon=None)))
