"""A map of places on the earth: longitude and latitude, GeoJSON, GeoParquet, GeoTIFF.

A deployment says where its grid's corner is and which way its columns count; all else follows. In
GeoJSON and GeoParquet each cell is a polygon on WGS 84. A GeoTIFF has a transverse Mercator
projection of its own, which touches the corner: a metre there is one on the ground, to a few
millionths within twenty kilometres. What is promised of cells is promised of these squares.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...devices.kit.siting import Site
from ...faults import OperatorFault
from ...settings.deployment import Deployment

Rows = Iterable[list[tuple[Any, ...]]]
ENDINGS = (".geojson", ".geoparquet", ".tif")
UNITS = {
    "longitude": "degrees east on WGS 84, of the middle of the cell",
    "latitude": "degrees north on WGS 84, of the middle of the cell",
}
H3_UNIT = "the H3 cell that the middle lies in, of the finest resolution no finer than the map's"


class EarthGrid(NamedTuple):
    """Where the cells of a map lie.

    h3: the resolution of the H3 cells that are named beside them; None for none.
    """

    site: Site
    shape: tuple[int, int]  # columns and rows
    cell_mm: int
    h3: int | None = None

    @property
    def columns(self) -> dict[str, type]:
        """What is said of each cell, and of which type."""
        return {"longitude": float, "latitude": float} | ({"h3": str} if self.h3 else {})

    @property
    def units(self) -> dict[str, str]:
        """What that is."""
        return UNITS | ({"h3": H3_UNIT} if self.h3 else {})

    def describe_cell(self, row: int, column: int) -> tuple[Any, ...]:
        """Return what is said of a cell."""
        longitude, latitude = self.convert_to_lon_lat(column + 0.5, row + 0.5)
        if not self.h3:
            return longitude, latitude
        import h3

        return longitude, latitude, h3.latlng_to_cell(latitude, longitude, self.h3)

    def convert_to_lon_lat(self, x: float, y: float) -> tuple[float, float]:
        """Return longitude and latitude of a point of the grid, counted in cells."""
        latitude, longitude = self.site.find_position(x * self.cell_mm, y * self.cell_mm)
        # Beyond the 180th meridian it counts on, or a cell there would go round the earth.
        return longitude + 360 * round((self.site.longitude - longitude) / 360), latitude

    def list_cell_corners(self, row: int, column: int) -> list[tuple[float, float]]:
        """Return the corners of a cell against the clock, the first one twice."""
        around = ((0, 0), (0, 1), (1, 1), (1, 0), (0, 0))
        return [self.convert_to_lon_lat(column + x, row + y) for x, y in around]

    def describe_site(self) -> dict[str, Any]:
        """Return what goes with the promise: where the map lies, and what a metre of it is."""
        cell_m = self.cell_mm / 1000
        across, down = (count * cell_m for count in self.shape)
        return {
            "corner": [self.site.latitude, self.site.longitude],
            "bearing": self.site.bearing,
            "cell_m": cell_m,
            "h3_resolution": self.h3,
            "in_words": f"A cell is a square of {cell_m:g} m on the ground, and the map is "
            f"{across:g} m by {down:g} m. What is promised of cells is promised of these squares; "
            "whatever is drawn from them, such as H3 cells, shows nothing finer.",
        }


def find_earth_grid(deployment: Deployment, h3: bool, needed: bool) -> EarthGrid | None:
    """Return where a deployment's cells lie on the earth; None where it does not say.

    Raises:
        OperatorFault: it does not say and it is needed, or h3 is asked for and not there.
    """
    own, grid = deployment.own, deployment.room.grid
    if own is None or own.corner is None or not grid.cell_mm:
        if not (h3 or needed):
            return None
        name = deployment.rounds.mechanism
        raise OperatorFault(
            "a map on the earth was asked for and the deployment does not say where its grid "
            "lies; a cell would be anywhere. "
            + (
                f"Write corner = [latitude, longitude] under [{name}], and length_m under [room]"
                if own is not None
                else f"Write --out with .csv, .jsonl or .parquet: maps of {name} lie in a room"
            )
        )
    size = (grid.shape[0] * grid.cell_mm, grid.shape[1] * grid.cell_mm)
    site = Site(own.corner[0], own.corner[1], own.bearing, *size)
    return EarthGrid(
        site, grid.shape, grid.cell_mm, _find_resolution(grid.cell_mm) if h3 else None
    )


def _find_resolution(cell_mm: int) -> int:
    """Return the finest resolution whose hexagons are no smaller than a cell, on average."""
    h3 = _load("h3", "--h3")
    area_m2 = (cell_mm / 1000) ** 2
    fits = [one for one in range(1, 16) if h3.average_hexagon_area(one, "m^2") >= area_m2]
    return max(fits, default=1)


def _load(name: str, asked: str) -> Any:
    try:
        return __import__(name)
    except ImportError as fault:
        raise OperatorFault(
            f"{asked} needs {name}, which is not installed; GeoJSON and the plain tables need "
            "nothing. Install it: pip install -e '.[geo]' in heatveil's checkout, or ask for one "
            "of those"
        ) from fault


def make_map_writer(ending: str, earth: EarthGrid) -> Callable[..., None]:
    """Return what writes rows of maps as a file of such an ending."""
    write = {".geojson": _write_geojson, ".geoparquet": _write_geoparquet, ".tif": _write_geotiff}[
        ending
    ]
    return partial(write, earth)


def _write_geojson(
    earth: EarthGrid, place: Path, kind: Any, rows: Rows, promise: dict[str, Any]
) -> None:
    """Write a FeatureCollection as RFC 7946 has it; the promise is its member `heatveil`."""

    def features() -> Iterator[str]:
        for said in (dict(zip(kind.columns, row, strict=True)) for some in rows for row in some):
            ring = earth.list_cell_corners(said["row"], said["column"])
            geometry = {"type": "Polygon", "coordinates": [ring]}
            yield json.dumps({"type": "Feature", "geometry": geometry, "properties": said})

    with place.open("w", encoding="utf-8") as file:
        head = json.dumps({"type": "FeatureCollection", "heatveil": promise})
        file.write(head[:-1] + ', "features": [')
        for at, feature in enumerate(features()):
            file.write((",\n" if at else "\n") + feature)
        file.write("\n]}\n")


def _write_geoparquet(
    earth: EarthGrid, place: Path, kind: Any, rows: Rows, promise: dict[str, Any]
) -> None:
    """Write GeoParquet 1.1: polygons as WKB, in degrees of longitude and latitude."""
    shapely, pa = _load("shapely", place.suffix), _load("pyarrow", place.suffix)
    from pyarrow import parquet

    polygons = {"encoding": "WKB", "geometry_types": ["Polygon"]}
    polygons["orientation"] = "counterclockwise"
    columns = {"geometry": polygons}
    geo = {"version": "1.1.0", "primary_column": "geometry", "columns": columns}
    about = {"geo": json.dumps(geo), "heatveil.guarantee": json.dumps(promise)}
    types = {int: pa.int64(), float: pa.float64(), str: pa.string()}
    fields = [(name, types[of]) for name, of in kind.columns.items()]
    fields.append(("geometry", pa.binary()))
    schema = pa.schema(fields, metadata=about)
    with parquet.ParquetWriter(place, schema) as file:
        for some in rows:
            table = [list(column) for column in zip(*some, strict=True)]
            said = dict(zip(kind.columns, table, strict=True))
            rings = [
                earth.list_cell_corners(*at)
                for at in zip(said["row"], said["column"], strict=True)
            ]
            wkb = shapely.to_wkb(shapely.polygons(np.array(rings)))
            file.write_table(pa.table([*table, pa.array(wkb, pa.binary())], schema=schema))


def _write_geotiff(
    earth: EarthGrid, place: Path, kind: Any, rows: Rows, promise: dict[str, Any]
) -> None:
    """Write a band for each round's shares, and one for their deviations where they are known."""
    rasterio = _load("rasterio", place.suffix)
    names, bands = list(kind.columns), list[tuple[str, Any]]()
    for some in rows:
        for what in ("mass", "sd"):
            values = [row[names.index(what)] for row in some] if what in names else [None]
            if None not in values:
                band = np.array(values, dtype=float).reshape(earth.shape[::-1])
                bands.append((f"round {some[0][0]}: {what}", band))
    if not bands:
        raise OperatorFault(
            "there is no map in that time and a GeoTIFF needs one band at least; a raster of "
            "nothing would be taken for an empty place. Ask for another time, or wait for a map"
        )
    site, cell_m = earth.site, earth.cell_mm / 1000
    turn = math.radians(site.bearing)
    east, north = cell_m * math.sin(turn), cell_m * math.cos(turn)
    with rasterio.open(
        place,
        "w",
        driver="GTiff",
        width=earth.shape[0],
        height=earth.shape[1],
        count=len(bands),
        dtype="float64",
        compress="deflate",
        crs=_write_projection(site),
        transform=rasterio.Affine(east, north, 0, north, -east, 0),
    ) as file:
        file.update_tags(HEATVEIL_GUARANTEE=json.dumps(promise))
        for at, (title, band) in enumerate(bands, 1):
            file.write(band, at)
            file.set_band_description(at, title)


def _write_projection(site: Site) -> str:
    """Return the map's own projection as WKT, by a name that says what it is."""
    name = f"heatveil map, metres from {site.latitude:.6f}, {site.longitude:.6f}"
    degrees = 'PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]'
    earth = 'SPHEROID["WGS 84",6378137,298.257223563,AUTHORITY["EPSG","7030"]]'
    lies = {
        "latitude_of_origin": site.latitude,
        "central_meridian": site.longitude,
        "scale_factor": 1,
        "false_easting": 0,
        "false_northing": 0,
    }
    parameters = ",".join(f'PARAMETER["{key}",{value!r}]' for key, value in lies.items())
    return (
        f'PROJCS["{name}",GEOGCS["WGS 84",DATUM["WGS_1984",{earth}],{degrees}],'
        f'PROJECTION["Transverse_Mercator"],{parameters},UNIT["metre",1]]'
    )
