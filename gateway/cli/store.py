"""The store of a deployment, opened to be read beside a gateway that runs."""

from collections.abc import Iterator
from contextlib import contextmanager

from ..deployment import Deployment
from ..storage import opening
from ..storage.looking import looking
from ..storage.places import place_of
from ..storage.reader import Reader


@contextmanager
def reading(deployment: Deployment) -> Iterator[Reader]:
    """Open the store for reading, for as long as the block lasts.

    Raises:
        OperatorFault: there is none, it cannot be read, or it is of another heatveil or site.
    """
    place = place_of(deployment)
    engine = looking(place)
    try:
        with engine.connect() as connection:
            opening.check(connection, place, deployment.site.name)
    finally:
        engine.dispose()
    reader = Reader(place)
    try:
        yield reader
    finally:
        reader.close()
