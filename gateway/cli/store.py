"""The store of a deployment, opened to be read beside a gateway that runs."""

from collections.abc import Iterator
from contextlib import contextmanager

from ..settings.deployment import Deployment
from ..store import opening
from ..store.places import place_of
from ..store.reader import Reader, looking


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
