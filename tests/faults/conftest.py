"""What the tests of faults share, and which of them are only run by `make faults`."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from harness import FULL  # noqa: E402
from harness.clusters import Cluster  # noqa: E402
from harness.stage import Stage, staged  # noqa: E402


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes long, unless all of it was asked for: then it may take its time."""
    if FULL:
        for one in items:
            one.add_marker(pytest.mark.timeout(1800))
        return
    long = [one for one in items if getattr(getattr(one, "function", None), "takes_long", False)]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [one for one in items if one not in long]


@pytest.fixture
def stage(need: Callable[[str], str], tmp_path: Path) -> Iterator[Callable[..., Stage]]:
    """Return what puts a site on stage: `stage(sensors=300, readings=3, store="postgresql")`."""
    program, stack = need("mosquitto"), ExitStack()

    def make(*, store: str = "sqlite", **given: Any) -> Stage:
        folder = tmp_path / f"site-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        site = stack.enter_context(staged(program, folder, **given))
        if store == "postgresql":
            site.keep_in(Cluster(need("postgres")))
        return site

    with stack:
        yield make
