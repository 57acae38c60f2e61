# What is public: `heatveil/__init__.py` reads the names, and where each is, from here.
from edge.entropy import Tape as Tape
from edge.entropy import keyed as keyed
from edge.entropy import sealed as sealed
from edge.noise import coin as coin
from edge.noise import dgauss as dgauss
from edge.noise import dlaplace as dlaplace
from edge.noise import exp_coin as exp_coin
from edge.noise import geometric as geometric
from edge.noise import polya as polya
from edge.records import Grid as Grid
from edge.records import Reading as Reading
from gateway.faults import OperatorFault as OperatorFault
from gateway.lab.thermal_days.run import simulate_file as simulate
from gateway.lab.thermal_study import study as study
from gateway.mechanisms import MECHANISMS as MECHANISMS
from gateway.mechanisms import find_mechanism as find_mechanism
from gateway.mechanisms import plan as plan
from gateway.mechanisms import play as play
from gateway.mechanisms import recover as recover
from gateway.mechanisms import register_mechanism as register_mechanism
from gateway.mechanisms import release as release
from gateway.mechanisms import report as report
from gateway.mechanisms.record import Mechanism as Mechanism
from physics.kernel import forward as forward
from physics.kernel import heat_kernel as heat_kernel
from physics.kernel import sensitivity as sensitivity
from recovery.disk import Query as DiskQuery
from recovery.distance import earth_movers as earth_movers
from recovery.distance import kl as kl
from recovery.distance import pearson as pearson
from recovery.distance import similarity as similarity
from recovery.distance import wasserstein2 as wasserstein2
from recovery.estimators.record import Estimate as Estimate
from recovery.estimators.record import Prior as Prior
from recovery.estimators.record import Seen as Seen
from recovery.estimators.table import ESTIMATORS as ESTIMATORS
from recovery.estimators.table import estimate as estimate
from recovery.estimators.table import register as register_estimator
from recovery.maps.guarantee import Guarantee as Guarantee
from recovery.maps.heatmap import Heatmap as Heatmap
from recovery.maps.heatmap import Unresolved as Unresolved
from recovery.maps.heatmap import from_npz as from_npz
from recovery.maps.heatmap import to_npz as to_npz
from recovery.pyramid import Query as PyramidQuery
from recovery.pyramid_sum import Query as PyramidSumQuery
from recovery.quadtree import Query as QuadtreeQuery
from recovery.ranks import Query as RanksQuery
from recovery.sparse import minimise_l1 as minimise_l1
from recovery.thermal import Query as ThermalQuery

__version__: str

# What has another name here than at home, for type checkers, which know the others by theirs.
__all__ = [
    "DiskQuery",
    "PyramidQuery",
    "PyramidSumQuery",
    "QuadtreeQuery",
    "RanksQuery",
    "ThermalQuery",
    "register_estimator",
    "simulate",
]
