"""Polygons, and their files."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import anagram as ag
from anagram.statement.domains.shapes import polygon_files
from mutations import damaged_bytes, damaged_json
from statement.domains.shapes.planes import gear
from tolerances import assert_close

SQUARE = [(0, 0), (1, 0), (1, 1), (0, 1)]
RING = [[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]
HOLE = [[1, 1], [1, 2], [2, 2], [2, 1], [1, 1]]
FAR = [[6, 0], [7, 0], [7, 1], [6, 0]]


def test_named_edges():
    polygon = ag.Polygon(SQUARE, name="frame", edges=("floor", "right", "lid", "left"))
    assert list(polygon.boundaries) == ["floor", "right", "lid", "left"]
    assert_close(polygon.boundary("lid").measure, 1)
    assert_close(polygon.boundary("frame").measure, 4)
    assert polygon.boundary("frame.2").parts == polygon.boundary("lid").parts


@pytest.mark.parametrize("vertices", [SQUARE, SQUARE[::-1], [*SQUARE, SQUARE[0]]])
def test_edges_are_counted_from_the_first_vertex(vertices):
    """Whichever way round the vertices go, and with the first one again at the end or not."""
    x = ag.Polygon(vertices).boundary("polygon.0").draw(ag.GaussLegendre(3), np.random.default_rng(0)).x
    first, second = np.array(vertices[0]), np.array(vertices[1])
    assert_close(
        np.cross(np.append(second - first, 0), np.c_[x - first, np.zeros(len(x))])[:, 2], np.zeros(len(x)), scale=1
    )


def test_collinear_vertices_are_allowed():
    polygon = ag.Polygon([(0, 0), (1, 0), (2, 0), (2, 1), (1, 1), (0, 1), (0, 0.5)])
    assert_close(polygon.measure, 2)
    assert len(polygon.corners()) == 4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: ag.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)]),
            r"'polygon' crosses or touches itself near \(0\.5, 0\.5\)",
        ),
        (lambda: ag.Polygon([(0, 0), (2, 0), (2, 2), (1, 0), (0, 2)]), "crosses or touches itself"),
        (lambda: ag.Polygon([(0, 0), (1, 0), (1, 0), (0, 1)]), "twice in a row"),
        (lambda: ag.Polygon([(0, 0), (1, 1), (2, 2)]), "has no area"),
        (lambda: ag.Polygon([(0, 0), (1, 1)]), "at least three vertices"),
        (lambda: ag.Polygon([(0, 0, 0), (1, 1, 0), (0, 1, 0)]), "two numbers each"),
        (lambda: ag.Polygon("square"), "two numbers each"),
        (lambda: ag.Polygon([(0, 0), (1, np.nan), (0, 1)]), "not finite"),
        (lambda: ag.Polygon(SQUARE, [[(2, 2), (3, 2), (3, 3)]]), "a hole of the polygon 'polygon' lies outside"),
        (lambda: ag.Polygon(SQUARE, [[(0.5, 0.5), (3, 2), (3, 3)]]), "crosses or touches itself"),
        (
            lambda: ag.Polygon(SQUARE, [[(0.5, 0.5), (0.6, 0.6)]]),
            "hole 0 of the polygon 'polygon' needs at least three",
        ),
        (lambda: ag.Polygon(SQUARE, edges=("a", "b")), "needs 4 names"),
        (lambda: ag.Polygon(SQUARE, axes=("x", "x")), "needs 2 different names"),
        (lambda: ag.Polygon(gear(20_000)), "at most 10000"),
    ],
)
def test_mistakes(make, message):
    with pytest.raises(ag.ProblemError, match=message):
        make()


# -- files ----------------------------------------------------------------------------------------------
def polygons_everywhere():
    one = {"type": "Polygon", "coordinates": [RING, HOLE]}
    many = {"type": "MultiPolygon", "coordinates": [[RING, HOLE], [FAR]]}
    feature = {"type": "Feature", "properties": {"name": "lake"}, "geometry": one}
    both = {
        "type": "FeatureCollection",
        "features": [feature, {"type": "Feature", "geometry": {**one, "coordinates": [FAR]}}],
    }
    return {"one": (one, 15), "many": (many, 15.5), "feature": (feature, 15), "collection": (both, 15.5)}


@pytest.mark.parametrize("kind", list(polygons_everywhere()))
def test_geojson(kind, tmp_path):
    value, area = polygons_everywhere()[kind]
    file = tmp_path / "lake.geojson"
    file.write_text(json.dumps(value))
    for polygon in (ag.Polygon.from_geojson(file, name="shore"), ag.Polygon.from_geojson(json.dumps(value))):
        assert_close(polygon.measure, area)
    assert list(ag.Polygon.from_geojson(str(file), name="shore").boundaries) == ["shore"]


def test_shapely_speaks_geo_interface():
    value = {"type": "Polygon", "coordinates": ((*map(tuple, RING),), (*map(tuple, HOLE),))}
    polygon = ag.Polygon.from_shapely(SimpleNamespace(__geo_interface__=value))
    assert_close(polygon.measure, 15)
    with pytest.raises(ag.ProblemError, match="needs a Polygon or MultiPolygon of shapely"):
        ag.Polygon.from_shapely("POLYGON")


def test_shapely_itself():
    shapely = pytest.importorskip("shapely")
    shape = shapely.Polygon(RING, [HOLE])
    polygon = ag.Polygon.from_shapely(shape)
    x = np.random.default_rng(0).uniform(-1, 5, (1000, 2))
    assert np.array_equal(polygon.contains(x), shapely.contains_xy(shape, x))


def test_well_known_text():
    assert_close(ag.Polygon.from_wkt("POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0), (1 1, 1 2, 2 2, 2 1, 1 1))").measure, 15)
    assert_close(ag.Polygon.from_wkt("multipolygon(((0 0,1 0,1 1,0 0)),((5 5,6 5,6 6,5 5)))").measure, 1)
    assert_close(ag.Polygon.from_wkt("SRID=4326;POLYGON Z ((0 0 9, 1e0 0 9, 1 1.0 9, 0 0 9))").measure, 0.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("POINT (1 2)", "begins with POLYGON"),
        ("POLYGON", "ends before its brackets are closed"),
        ("POLYGON ((0 0, 1 0, 1 1, 0 0)", "ends before its brackets are closed"),
        ("POLYGON ((0 0, 1 0, 1 1, 0 0))) 1", "closes a bracket"),
        ("POLYGON ((0 0, 1 0, 1 1))", "is not closed"),
        ("POLYGON ((0 0, 1 0, x 1, 0 0))", "in the place of a number"),
        ("POLYGON ((0 0, 1 0, nan 1, 0 0))", "not finite"),
        ("POLYGON EMPTY", "in the place of a number"),
        ("POLYGON ()", "has no rings"),
        ("POLYGON " + "(" * 10_000, "too many brackets"),
        (7, "is a str"),
    ],
)
def test_broken_text(text, message):
    with pytest.raises(ag.ProblemError, match=message):
        ag.Polygon.from_wkt(text)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"type": "Point", "coordinates": [1, 2]}, "a Polygon or a MultiPolygon is needed, not 'Point'"),
        ({"type": "FeatureCollection", "features": []}, "without a Polygon"),
        ({"type": "Polygon"}, "has a list in it"),
        ({"type": "Polygon", "coordinates": []}, "has no rings"),
        ({"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1]]]}, "is not closed"),
        ({"type": "Polygon", "coordinates": [[[0], [1, 0], [1, 1], [0]]]}, "a vertex has two numbers"),
        ({"type": "Polygon", "coordinates": [[[0, "1"]] * 4]}, "a vertex has two numbers"),
        ({"type": "Polygon", "coordinates": [[[0, 10**400]] * 4]}, "a vertex is not finite"),
        ({"type": "Polygon", "coordinates": [[[0, 0]] * 20_000]}, "at most 10000 are read"),
        ({"type": "MultiPolygon", "coordinates": [[RING]] * 2501}, "more than the 10000"),
    ],
)
def test_broken_geojson(value, message, tmp_path):
    with pytest.raises(ag.ProblemError, match=message):
        ag.Polygon.from_geojson(json.dumps(value))
    file = tmp_path / "it.geojson"
    file.write_text(json.dumps(value))
    with pytest.raises(ag.FileError, match=message):
        ag.Polygon.from_geojson(file)


def test_an_island_in_a_lake_is_a_piece_of_its_own():
    island = [[1.2, 1.2], [1.8, 1.2], [1.8, 1.8], [1.2, 1.8], [1.2, 1.2]]
    value = {"type": "MultiPolygon", "coordinates": [[RING, HOLE], [island]]}
    assert_close(ag.Polygon.from_geojson(json.dumps(value)).measure, 15.36)


@pytest.mark.parametrize("other", [RING, [[4, 0], [5, 0], [5, 4], [4, 4], [4, 0]]])
def test_pieces_that_share_edges_are_refused(other):
    value = {"type": "MultiPolygon", "coordinates": [[RING], [other]]}
    with pytest.raises(ag.ProblemError, match="crosses or touches itself .* pieces that share an edge are joined by |"):
        ag.Polygon.from_geojson(json.dumps(value))


def test_rings_may_share_a_vertex():
    """As they may in files: pieces that touch at a point, a hole that touches the shore."""
    touching = {"type": "MultiPolygon", "coordinates": [[RING], [[[4, 4], [5, 4], [5, 5], [4, 4]]]]}
    assert_close(ag.Polygon.from_geojson(json.dumps(touching)).measure, 16.5)
    pinched = ag.Polygon(SQUARE, [[(0, 0), (0.5, 0.2), (0.2, 0.5)]])
    assert_close(pinched.measure, 1 - 0.105)
    assert not pinched.contains(np.array([[0.2, 0.2]])).any()


def test_pieces_that_overlap_are_refused():
    value = {"type": "MultiPolygon", "coordinates": [[RING], [HOLE]]}
    with pytest.raises(ag.ProblemError, match="two pieces of the polygon 'polygon' overlap"):
        ag.Polygon.from_geojson(json.dumps(value))


def test_files_that_are_none(tmp_path, monkeypatch):
    for name, what in (
        ("none.geojson", None),
        ("folder", "folder"),
        ("half.geojson", '{"type": "Pol'),
        ("deep", "[" * 9999),
    ):
        file = tmp_path / name
        if what == "folder":
            file.mkdir()
        elif what is not None:
            file.write_text(what)
        with pytest.raises(ag.FileError, match="cannot be read|is broken or cut off"):
            ag.Polygon.from_geojson(file)
    monkeypatch.setattr(polygon_files, "LARGEST_FILE", 100)
    file = tmp_path / "large.geojson"
    file.write_text(json.dumps({"type": "Polygon", "coordinates": [RING, HOLE]}))
    with pytest.raises(ag.FileError, match="cannot be read"):
        ag.Polygon.from_geojson(file)
    with pytest.raises(ag.ProblemError, match="is longer than 100 characters"):
        ag.Polygon.from_geojson(file.read_text())


@pytest.mark.parametrize("seed", range(4))
def test_damaged_files_give_a_polygon_or_an_error_of_ours(seed):
    rng = np.random.default_rng(seed)
    values = [value for value, _ in polygons_everywhere().values()]
    text = "MULTIPOLYGON (((0 0, 4 0, 4 4, 0 4, 0 0), (1 1, 1 2, 2 2, 2 1, 1 1)), ((6 0, 7 0, 7 1, 6 0)))"
    good = longest = 0
    for k in range(80):
        value = values[k % len(values)]
        damaged = damaged_json(value, rng, int(rng.integers(1, 4)))
        if k % 2:
            damaged = damaged_bytes(json.dumps(value).encode(), rng).decode(errors="replace")
        for read, what in (
            (ag.Polygon.from_geojson, damaged),
            (ag.Polygon.from_wkt, damaged_bytes(text.encode(), rng).decode(errors="replace")),
        ):
            try:
                good += np.isfinite(read(what).bounds).all()
            except ag.AnagramError as error:
                longest = max(longest, len(str(error)))
    assert good
    assert longest < 1000
