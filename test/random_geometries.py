"""random_geometries.py - seeded pairs of geometries, most of them nasty, as WKB.

Owns: shapes and points that meet where formulas are decided by their last bit: on edges and vertices, on the line through
an edge, nearly touching; holes, degenerate rings, empty shapes, NaN, infinities, coordinates of any size, Z and M, SRIDs.
Must never: ask PostGIS anything.
Used by: geometry.py.
"""

import math
import struct
from fractions import Fraction

POINT, LINE, POLYGON, MULTIPOINT, MULTILINE, MULTIPOLYGON, COLLECTION = range(1, 8)
HAS_Z, HAS_M, HAS_SRID = 0x80000000, 0x40000000, 0x20000000
ODD_NUMBERS = (0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, 1e-300, 1e300, 1.7e308, 3.4028235e38, 3.5e38, -1e39, 1e-13)


class GeometryMaker:
    """`shape` and `point_near` belong together: the point lies where the shape makes it hard."""

    def __init__(self, random):
        self.random = random
        self.dims = 2
        self.flags = 0
        self.srid = 0

    def chance(self, probability):
        return self.random.random() < probability

    # Coordinates

    def choose_scale(self):
        """Small integers (all products exact), tenths (none are), degrees, or numbers of any size."""
        kind = self.random.randrange(5)
        if kind == 0:
            self.number = lambda: float(self.random.randint(-4, 4))
        elif kind == 1:
            self.number = lambda: self.random.randint(-20, 20) * 0.1
        elif kind == 2:
            self.number = lambda: self.random.uniform(-180, 180)
        elif kind == 3:
            size = 10.0 ** self.random.randint(-30, 30)
            self.number = lambda: self.random.uniform(-1, 1) * size
        else:
            offset = self.random.choice((139.7, 35.6, 1e6, 1e-3))
            self.number = lambda: offset + self.random.randint(-9, 9) * 2.0 ** -self.random.randint(0, 50)

    def rest(self):
        return tuple(self.random.choice((0.0, 1.5, -7.0, math.nan)) for _ in range(self.dims - 2))

    def position(self):
        x, y = self.number(), self.number()
        if self.chance(0.004):
            x = self.random.choice(ODD_NUMBERS)
        if self.chance(0.004):
            y = self.random.choice(ODD_NUMBERS)
        return (x, y, *self.rest())

    # Shapes: (type, parts), where a point's part is a position or None.

    def ring(self):
        count = self.random.choice((3, 3, 4, 5, 8, 20))
        kind = self.random.randrange(6)
        if kind == 0:                                   # a box
            x0, y0, x1, y1 = self.number(), self.number(), self.number(), self.number()
            corners = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
        elif kind == 1:                                 # around a centre
            x, y, r = self.number(), self.number(), abs(self.number()) + 1e-9
            corners = [(x + r * math.cos(2 * math.pi * i / count), y + r * math.sin(2 * math.pi * i / count))
                       for i in range(count)]
        else:                                           # as it comes: it may cross itself
            corners = [self.position()[:2] for _ in range(count)]
        if self.chance(0.15):                           # a corner twice, or very near
            at = self.random.randrange(len(corners))
            x, y = corners[at]
            step = self.random.choice((0.0, 1e-13, 1e-25))
            corners.insert(at, (x + step, y))
        if self.chance(0.1):                            # a corner amid an edge
            at = self.random.randrange(1, len(corners))
            (ax, ay), (bx, by) = corners[at - 1], corners[at]
            corners.insert(at, ((ax + bx) / 2, (ay + by) / 2))
        if self.chance(0.02):
            x, y = corners[-1]
            corners[-1] = self.random.choice(((x, math.nan), (math.nan, y), (x, math.inf), (-math.inf, y)))
        if self.chance(0.3):
            corners.reverse()
        positions = [(x, y, *self.rest()) for x, y in corners]
        return positions + positions[:1]

    def polygon(self):
        if self.chance(0.01):
            return []
        rings = [self.ring()]
        while self.chance(0.3):
            if self.chance(0.7):                        # a hole within, or on the edge
                centre = [sum(p[i] for p in rings[0][:-1]) / (len(rings[0]) - 1) for i in (0, 1)]
                share = self.random.choice((0.25, 0.5, 1.0))
                rings.append([(c[0] + (p[0] - c[0]) * share, c[1] + (p[1] - c[1]) * share, *p[2:])
                              for p in rings[0] for c in (centre,)])
            else:
                rings.append(self.ring())
        return rings

    def line(self):
        if self.chance(0.01):
            return []
        points = [self.position() for _ in range(self.random.choice((2, 2, 3, 5, 12)))]
        if self.chance(0.2):
            points.append(points[0])
        if self.chance(0.1):
            points.insert(1, points[0])
        return points

    def point(self):
        return None if self.chance(0.02) else self.position()

    def shape(self):
        kind = self.random.choices((POLYGON, LINE, POINT, MULTIPOLYGON, MULTIPOINT, MULTILINE, COLLECTION),
                                   (10, 4, 2, 3, 1, 1, 1))[0]
        if kind == COLLECTION:
            return kind, [self.shape() for _ in range(self.random.randrange(3))]
        one = {POLYGON: self.polygon, LINE: self.line, POINT: self.point}[kind if kind <= POLYGON else kind - 3]
        if kind <= POLYGON:
            return kind, one()
        return kind, [(kind - 3, ([] if kind > MULTIPOINT else None) if self.chance(0.08) else one())
                      for _ in range(self.random.choice((0, 1, 1, 2, 3)))]

    def paths(self, shape):
        """All sequences of positions in the shape."""
        kind, parts = shape
        if kind == POINT:
            return [[parts]] if parts else []
        if kind == LINE:
            return [parts] if parts else []
        if kind == POLYGON:
            return parts
        return [path for part in parts for path in self.paths(part)]

    def point_near(self, shape):
        """A point where the shape's answer is decided by little."""
        paths = self.paths(shape)
        if not paths or self.chance(0.15):
            return POINT, self.point()
        path = self.random.choice(paths)
        if len(path) > 3 and self.chance(0.15):
            crossing = self.crossing(path)
            if crossing:
                return POINT, (*crossing, *self.rest())
        at = self.random.randrange(max(1, len(path) - 1))
        ax, ay = path[at][:2]
        bx, by = path[min(at + 1, len(path) - 1)][:2]
        part = self.random.choice((0.0, 1.0, 0.5, 0.25, self.random.random(), -0.5, 1.5, 2.0))
        x, y = ax + (bx - ax) * part, ay + (by - ay) * part
        kind = self.random.randrange(6)
        if kind == 0:                                   # nearly
            x = math.nextafter(x, self.random.choice((-math.inf, math.inf)))
        elif kind == 1:
            y = math.nextafter(y, self.random.choice((-math.inf, math.inf)))
        elif kind == 2:                                 # level with a corner
            x = self.number()
            y = ay
        elif kind == 3:
            centre = [sum(p[i] for p in path) / len(path) for i in (0, 1)]
            x, y = centre
        return POINT, (x, y, *self.rest())

    def crossing(self, path):
        """Where the lines of two segments cross, rounded; GEOS finds such points on a line that crosses itself."""
        first, second = (self.random.randrange(len(path) - 1) for _ in range(2))
        (ax, ay), (bx, by), (cx, cy), (dx, dy) = (p[:2] for i in (first, second) for p in path[i:i + 2])
        try:
            ax, ay, bx, by, cx, cy, dx, dy = map(Fraction, (ax, ay, bx, by, cx, cy, dx, dy))
            part = ((cx - ax) * (dy - cy) - (cy - ay) * (dx - cx)) / ((bx - ax) * (dy - cy) - (by - ay) * (dx - cx))
            return float(ax + (bx - ax) * part), float(ay + (by - ay) * part)
        except (ArithmeticError, ValueError):           # parallel, or no numbers
            return None

    # Pairs

    def begin(self):
        """A new kind of coordinates, dimensions and SRID for the shapes that follow."""
        self.choose_scale()
        self.flags = self.random.choice((0, 0, 0, 0, HAS_Z, HAS_M, HAS_Z | HAS_M))
        self.dims = 2 + (self.flags & HAS_Z > 0) + (self.flags & HAS_M > 0)
        self.srid = self.random.choice((0, 0, 4326))

    def pairs(self, count):
        """`count` pairs of WKB in hexadecimal digits. The same shape often comes several times in a row: PostGIS then
        answers from an index that it keeps."""
        made = 0
        while made < count:
            self.begin()
            shape = self.shape()
            for _ in range(min(self.random.choice((1, 1, 2, 3, 6)), count - made)):
                other = self.point_near(shape) if self.chance(0.9) else self.shape()
                srid = 3857 if self.chance(0.01) else self.srid
                pair = [self.wkb(shape, self.srid).hex(), self.wkb(other, srid).hex()]
                if self.chance(0.3):
                    pair.reverse()
                yield pair
                made += 1

    def wkb(self, shape, srid=0):
        kind, parts = shape
        head = struct.pack("<BI", 1, kind | self.flags | (HAS_SRID if srid else 0)) + (struct.pack("<i", srid) if srid else b"")

        def listed(positions):
            return struct.pack("<I", len(positions)) + b"".join(struct.pack(f"<{self.dims}d", *p) for p in positions)
        if kind == POINT:
            return head + struct.pack(f"<{self.dims}d", *(parts or [math.nan] * self.dims))
        if kind == LINE:
            return head + listed(parts)
        if kind == POLYGON:
            return head + struct.pack("<I", len(parts)) + b"".join(map(listed, parts))
        return head + struct.pack("<I", len(parts)) + b"".join(self.wkb(part) for part in parts)
