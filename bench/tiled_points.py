"""tiled_points.py - points in an Arrow file, and polygons that tile the area they lie in, with counts that are known.

Owns: an area of side x side squares whose sides are all bent alike, so that neighbours share each edge and a polygon has 20
edges; points with coordinates as GeoArrow has them (a struct of x and y, 16 bytes a point); and how many lie in each polygon,
counted as the points are made. Points are made once, and moved by whole squares for the batches of the file, which changes
the square that they lie in and nothing else. None is within 10^-6 of an edge.
Used by: geography.py.
"""

import numpy as np
import pyarrow as pa

# A side from 0 to 1, and how far it is bent there. Steep enough for no edge to be straight, and flat enough for sides that
# meet in a corner not to touch elsewhere.
PLACES = np.array([0, 0.2, 0.4, 0.6, 0.8, 1])
BENDS = np.array([0, 0.08, -0.05, 0.06, -0.08, 0])
BATCH_ROWS = 1 << 20
MADE_ROWS = 16 << 20
NEAR = 1e-6


def polygons_sql(side):
    """Fills the table polygons (id int, g geometry): number column + side * row."""
    steps = range(5)
    bottom = [(PLACES[i], BENDS[i]) for i in steps]
    right = [(1 + BENDS[i], PLACES[i]) for i in steps]
    top = [(1 - PLACES[i], 1 + BENDS[5 - i]) for i in steps]
    left = [(BENDS[5 - i], 1 - PLACES[i]) for i in steps]
    ring = ", ".join(f"st_makepoint(x + ({dx!r})::float8, y + ({dy!r})::float8)" for dx, dy in
                     ((float(dx), float(dy)) for dx, dy in [*bottom, *right, *top, *left, bottom[0]]))
    return (f"INSERT INTO polygons SELECT x + {side} * y, st_makepolygon(st_makeline(ARRAY[{ring}])) "
            f"FROM generate_series(0, {side - 1}) y, generate_series(0, {side - 1}) x")


def squares(x, y):
    """By point: how far the square it lies in is from the one that its coordinates begin with, by column and by row; and
    whether an edge is near."""
    fx, fy = x - np.floor(x), y - np.floor(y)
    along_x, along_y = np.interp(fx, PLACES, BENDS), np.interp(fy, PLACES, BENDS)
    columns = np.where(fx < along_y, -1, np.where(fx > 1 + along_y, 1, 0)).astype(np.int8)
    rows = np.where(fy < along_x, -1, np.where(fy > 1 + along_x, 1, 0)).astype(np.int8)
    near = np.minimum.reduce([np.abs(fx - along_y), np.abs(fx - 1 - along_y), np.abs(fy - along_x), np.abs(fy - 1 - along_x)]) < NEAR
    return columns, rows, near


def write_points(path, count, side, seed=1):
    """The points of each polygon, by its number."""
    chance = np.random.default_rng(seed)
    made = min(count, MADE_ROWS)
    x, y = chance.random(made) * side, chance.random(made) * side
    columns, rows, near = squares(x, y)
    x[near], y[near] = np.floor(x[near]) + 0.5, np.floor(y[near]) + 0.5
    columns[near] = rows[near] = 0
    row_of = np.floor(y).astype(np.int64) + rows
    floor_x = np.floor(x).astype(np.int64)
    expected = np.zeros(side * side, np.int64)
    number = pa.field("x", pa.float64(), nullable=False), pa.field("y", pa.float64(), nullable=False)
    field = pa.field("g", pa.struct(number), metadata={b"ARROW:extension:name": b"geoarrow.point"})
    schema = pa.schema([field])
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for part, first in enumerate(range(0, count, made)):
            rest = min(made, count - first)
            shift = 37 * part % side
            moved = x[:rest] + shift
            moved[moved >= side] -= side
            # Count them.
            column = (floor_x[:rest] + shift) % side + columns[:rest]
            inside = (column >= 0) & (column < side) & (row_of[:rest] >= 0) & (row_of[:rest] < side)
            expected += np.bincount(column[inside] + side * row_of[:rest][inside], minlength=side * side)
            # Write them.
            for at in range(0, rest, BATCH_ROWS):
                end = min(at + BATCH_ROWS, rest)
                points = pa.StructArray.from_arrays([pa.array(moved[at:end]), pa.array(y[at:end])], fields=list(number))
                writer.write_batch(pa.record_batch([points], schema=schema))
    return expected
