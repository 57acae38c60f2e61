"""The streams of `core.entropy`, under the name by which others import them; on no board."""

from .core.entropy import Tape as Tape
from .core.entropy import keyed as keyed
from .core.entropy import sealed as sealed
