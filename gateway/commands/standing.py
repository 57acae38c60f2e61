"""What the virtual devices of a deployment stand in."""

from typing import Any

import numpy as np

from ..deployment import Deployment
from ..serves.table import of
from .act import Seen, Stand
from .acts import named


def stand(deployment: Deployment, query: Any, seen: Seen, world: np.random.Generator) -> Stand:
    """Return what the virtual devices of a deployment stand in.

    Raises:
        OperatorFault: a flag or a file is wrong, or the room does not fit the query.
    """
    columns, rows = of(deployment).sensors(deployment)
    return named(deployment.rounds.mechanism).stand(query, seen, columns * rows, world)
