"""Surface meshes in files, sound, damaged and hostile ones."""

import struct
import sys

import numpy as np
import pytest

import anagram as ag
from anagram.statement.domains.shapes.meshes.files import read_mesh
from tolerances import assert_close

VERTICES = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
TETRAHEDRON = ag.Mesh(VERTICES, FACES)
KINDS = ("stl", "words.stl", "obj", "off", "ply", "binary.ply")


def content(kind, tmp_path):
    """A tetrahedron as a file of each kind."""
    lines = lambda rows, before="": "".join(before + " ".join(map(str, row)) + "\n" for row in rows)
    match kind:
        case "stl":
            TETRAHEDRON.to_file(tmp_path / "made.stl")
            return (tmp_path / "made.stl").read_bytes()
        case "words.stl":
            facets = (
                f"facet normal 0 0 0\nouter loop\n{lines(VERTICES[f], 'vertex ')}endloop\nendfacet\n" for f in FACES
            )
            return f"solid part\n{''.join(facets)}endsolid part\n".encode()
        case "obj":
            return (lines(VERTICES, "v ") + lines(FACES + 1, "f ")).encode()
        case "off":
            return f"OFF\n4 4 6\n{lines(VERTICES)}{lines(FACES, '3 ')}".encode()
        case _:
            form = "binary_little_endian" if kind.startswith("binary") else "ascii"
            head = f"ply\nformat {form} 1.0\nelement vertex 4\n{lines('xyz', 'property float ')}"
            head += "element face 4\nproperty list uchar int vertex_indices\nend_header\n"
            if form == "ascii":
                return (head + lines(VERTICES) + lines(FACES, "3 ")).encode()
            faces = b"".join(struct.pack("<B3i", 3, *face) for face in FACES.tolist())
            return head.encode() + VERTICES.astype("<f4").tobytes() + faces


@pytest.mark.parametrize("kind", KINDS)
def test_files_of_every_kind(kind, tmp_path):
    if not kind.endswith("stl"):
        pytest.importorskip("trimesh")
    path = tmp_path / f"part.{kind}"
    path.write_bytes(content(kind, tmp_path))
    mesh = ag.Mesh.from_file(path, parts={"slope": lambda x, y, z: x + y + z > 0.99})
    assert_close(mesh.measure, 1 / 6)
    assert len(mesh.vertices) == 4
    assert set(mesh.boundaries) == {"slope", "surface"}


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_refused_and_nothing_else_happens(kind, tmp_path):
    if not kind.endswith("stl"):
        pytest.importorskip("trimesh")
    whole, rng = content(kind, tmp_path), np.random.default_rng(len(kind))
    path = tmp_path / f"part.{kind}"
    for trial in range(60):
        data = bytearray(whole)
        match trial % 3:
            case 0:
                data = data[: rng.integers(len(data))]
            case 1:
                for place in rng.integers(len(data), size=rng.integers(1, 8)):
                    data[place] = rng.integers(256)
            case 2:
                place = rng.integers(len(data))
                data[place:place] = rng.bytes(int(rng.integers(1, 20)))
        path.write_bytes(bytes(data))
        try:
            mesh = ag.Mesh.from_file(path)
        except (ag.FileError, ag.ProblemError):
            continue
        assert np.isfinite(mesh.measure)


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.stl", b"", "header of 84 bytes"),
        ("a.stl", bytes(80) + struct.pack("<I", 4) + bytes(199), "needs 284 bytes for the 4 triangles"),
        ("a.stl", bytes(80) + struct.pack("<I", 2**32 - 1), "needs"),
        ("a.stl", b"solid\nfacet\nvertex 0 0 x\n", "no vertex"),
        ("a.stl", b"solid\nfacet\nvertex 0 0 0\nendfacet\n", "three vertices"),
        ("a.stl", b"solid\nfacet\nvertex 0 0 0\n", "ends before"),
        ("a.ply", b"no header", "no header"),
        ("a.ply", b"ply\nformat ascii 1.0\nelement vertex 99999999999\nend_header\n", "99999999999 elements"),
        ("a.off", b"OFF\n99999999 1 1\n0 0 0\n", "99999999 elements"),
        ("a.step", b"", "of a kind"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(name, data, words, tmp_path):
    if name.endswith(("ply", "off", "obj")):
        pytest.importorskip("trimesh")
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ag.FileError, match=words):
        ag.Mesh.from_file(tmp_path / name)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(ag.FileError, match="cannot be read"):
        ag.Mesh.from_file(tmp_path / "missing.stl")
    (tmp_path / "folder.stl").mkdir()
    with pytest.raises(ag.FileError, match="is no plain file"):
        ag.Mesh.from_file(tmp_path / "folder.stl")
    with pytest.raises(ag.FileError, match="cannot be written"):
        TETRAHEDRON.to_file(tmp_path / "missing" / "part.stl")
    with pytest.raises(ag.FileError, match="ends in .stl"):
        TETRAHEDRON.to_file(tmp_path / "part.obj")


def test_too_many_triangles_are_refused_before_they_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr("anagram.statement.domains.shapes.meshes.files.MOST_FACES", 3)
    TETRAHEDRON.to_file(tmp_path / "part.stl")
    with pytest.raises(ag.FileError, match="more than 3"):
        read_mesh(tmp_path / "part.stl")
    monkeypatch.setattr("anagram.statement.domains.shapes.meshes.files.MOST_BYTES", 10)
    with pytest.raises(ag.FileError, match="284 bytes"):
        read_mesh(tmp_path / "part.stl")


def test_an_error_names_its_file(tmp_path):
    (tmp_path / "part.stl").write_bytes(bytes(80) + struct.pack("<I", 0))
    with pytest.raises(ag.ProblemError, match=r"part.stl': the mesh has 0 triangles"):
        ag.Mesh.from_file(tmp_path / "part.stl")


def test_missing_packages_are_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "trimesh", None)
    monkeypatch.setitem(sys.modules, "manifold3d", None)
    (tmp_path / "part.obj").write_bytes(content("obj", tmp_path))
    with pytest.raises(ag.MissingError, match="anagram-pinn\\[meshes\\]"):
        ag.Mesh.from_file(tmp_path / "part.obj")
    with pytest.raises(ag.MissingError, match="anagram-pinn\\[meshes\\]"):
        TETRAHEDRON | TETRAHEDRON
