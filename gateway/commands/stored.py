"""The store of a deployment, opened to be read beside a gateway that runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..deployment import Deployment
from ..storage.places import place_of
from ..storage.reader import Reader


@contextmanager
def reading(deployment: Deployment) -> Iterator[Any]:
    """Open the store for reading, for as long as the block lasts.

    Raises:
        OperatorFault: there is none, it cannot be read, or it is of another heatveil or site.
    """
    reader = Reader(place_of(deployment))
    try:
        yield reader
    finally:
        reader.close()
