"""The table [disk] of a deployment: whose places are asked for, how, and where their grid lies."""

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from recovery.disk.query import EstimatorName, Query, Scheme

from .fields import Count, Section

Finite = Annotated[float, Field(allow_inf_nan=False)]
POLE = 85.0  # degrees: beyond it the meridians run together within a grid
_USUAL: Any = Query.__dataclass_fields__["scheme"].default


class Disk(Section):
    """The people whose places are asked for, a device each, and how these answer."""

    devices: Count
    scheme: Scheme = _USUAL
    radius: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None  # cells
    estimator: EstimatorName = "auto"
    level: Annotated[float, Field(gt=0, lt=1)] = 0.9  # of what is said about how sure the map is
    corner: tuple[Finite, Finite] | None = None  # latitude, longitude of the first cell's
    bearing: Annotated[float, Field(ge=0, le=360)] = 90.0  # degrees from north: the way of a row

    @model_validator(mode="after")
    def _on_earth(self) -> Self:
        if self.corner is not None:
            latitude, longitude = self.corner
            if abs(latitude) > POLE or abs(longitude) > 180:
                raise ValueError(
                    f"corner is {latitude:g}, {longitude:g}; needed are a latitude from -{POLE:g} "
                    f"to {POLE:g} degrees, north positive, and then a longitude from -180 to 180, "
                    "east positive: nearer to a pole no grid is flat. Are the two the wrong way "
                    "round?"
                )
        return self
