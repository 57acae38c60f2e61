"""The exact samplers of `core.noise`, under the name by which others import them; on no board."""

from .core.noise import coin as coin
from .core.noise import dgauss as dgauss
from .core.noise import dlaplace as dlaplace
from .core.noise import exp_coin as exp_coin
from .core.noise import geometric as geometric
from .core.noise import isqrt as isqrt
from .core.shares import draw_shares as draw_shares
from .core.shares import polya as polya
