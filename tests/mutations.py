"""Ways to damage the files of a run, all of them decided by a random generator."""

import copy
import json
import struct

import numpy as np

DEEP = "\0deep\0"  # stands for a nesting that `json.dumps` would not write
VALUES = (
    None, True, False, 0, 1, -1, 2, 3, 7, 10**6, 10**12, 10**30, -(10**30), 2**53, 2**63, 0.5, -0.5, 1e-300, 1e308,
    -1e308, float("nan"), float("inf"), -float("inf"), "", "x", "t", "u", "0", "auto", "spring", "Grid", "Fourier",
    "custom", "by-unknown", "running", "interrupted", "../../x", "/etc/passwd", "..\\evil.py", "\0", "\ud800",
    "Ω̈ 💥\n\x1b[31m", "{0.__class__}", "__import__('os').system('touch owned')", "a" * 100_000, [], [[]], [None],
    [0, 1], [1, 0], ["a", "b"], [1e308, 10**30], {}, {"": None}, {"kind": "custom"}, {"kind": "MLP", "widths": [3]},
    {"kind": "Polynomial", "degree": 2}, {"kind": "Fourier", "order": 10**30}, {"rule": "Cells", "count": 10**12},
    {"rule": "Grid", "count": 10**12, "axes": {}}, {"rule": "Sobol", "count": 9}, {"conditions": {"equation": 9}},
    {"a": {"b": {"c": [1, 2, {"d": 3}]}}}, DEEP,
)  # fmt: skip
KEYS = ("", "kind", "custom", "conditions", "rule", "self", "weights", "paper", "name", "__class__", "x", "\ud800")
TYPES = ("F64", "F32", "F16", "BF16", "I64", "I8", "U8", "BOOL", "F8_E4M3", "F4", "C64", "X", "", None, 3)


def damaged_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """Some bytes flipped, removed, inserted, repeated or cut off, at random places."""
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        place, length = int(rng.integers(0, len(changed) + 1)), int(rng.integers(1, 30))
        match rng.integers(0, 6):
            case 0 if changed:
                changed[min(place, len(changed) - 1)] ^= 1 << int(rng.integers(0, 8))
            case 1:
                del changed[place : place + length]
            case 2:
                changed[place:place] = rng.bytes(length)
            case 3:
                del changed[place:]
            case 4:
                changed[place:place] = changed[place : place + length]
            case _:
                changed[place : place + length] = rng.bytes(length)
    return bytes(changed)


def damaged_json(value, rng: np.random.Generator, times: int = 1) -> str:
    """The text of a JSON value in which something at a random path was replaced, removed, renamed or added."""
    value = json.loads(json.dumps(value))
    for _ in range(times):
        value = _changed(value, rng)
    text = json.dumps(value, ensure_ascii=bool(rng.integers(0, 2)))
    nested = _pick(("[" * 100_000, '{"a":' * 100_000, "[" * 300 + "]" * 300, "[" * 900 + "]" * 900), rng)
    return text.replace(json.dumps(DEEP), nested)


def _changed(value, rng):
    places = list(_places(value))
    if not places:
        return _pick(VALUES, rng)
    container, key = places[int(rng.integers(0, len(places)))]
    match rng.integers(0, 8):
        case 0:
            del container[key]
        case 1 if isinstance(container, dict):
            container[_pick(KEYS, rng)] = container.pop(key)
        case 2 if isinstance(container, dict):
            container[_pick(KEYS, rng)] = _pick(VALUES, rng)
        case 2:
            container.insert(key, _pick(VALUES, rng))
        case 3:
            other, place = places[int(rng.integers(0, len(places)))]
            if place in other if isinstance(other, dict) else place < len(other):
                container[key] = json.loads(json.dumps(other[place]))
        case _:
            container[key] = _pick(VALUES, rng)
    return value


def _places(value):
    """All containers with the keys or indices of their entries."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in list(entries):
        yield value, key
        yield from _places(entry)


def _pick(choices, rng):
    return copy.deepcopy(choices[int(rng.integers(0, len(choices)))])


# -- safetensors --------------------------------------------------------------------------------------
def header_of(data: bytes) -> tuple[dict, bytes]:
    """The header of a safetensors file, and what comes after it."""
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def with_header(header, rest: bytes, claimed: int | None = None) -> bytes:
    """A safetensors file; the length of its header may be a lie."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode(errors="replace")
    return struct.pack("<Q", len(text) if claimed is None else claimed) + text + rest


def damaged_header(data: bytes, rng: np.random.Generator) -> bytes:
    """A safetensors file whose header lies about names, types, shapes or places."""
    header, rest = header_of(data)
    names = [name for name in header if name != "__metadata__"]
    entry = header[_pick(names, rng)]
    numbers = (0, 1, -1, 3, 2**31, 2**60, 2**63, 2**64 - 1, 2**64, 10**30, 0.5, None, "8", [])
    match rng.integers(0, 9):
        case 0:
            entry["shape"] = [_pick(numbers, rng) for _ in range(int(rng.integers(0, 4)))]
        case 1:
            entry["data_offsets"] = [_pick(numbers, rng) for _ in range(int(rng.integers(0, 4)))]
        case 2:
            entry["dtype"] = _pick(TYPES, rng)
        case 3:
            entry["data_offsets"] = header[_pick(names, rng)]["data_offsets"]  # they overlap
        case 4:
            return with_header(header, rest, claimed=_pick((0, 1, 7, 10**6, 2**32, 2**63, 2**64 - 1), rng))
        case 5:
            return with_header(damaged_json(header, rng).encode(errors="replace"), rest)
        case 6:
            header["__metadata__"] = _pick(VALUES, rng)
        case 7:
            header[_pick(("theta", "steps.loss", "steps.", "../../x", "state.theta"), rng)] = entry
        case _:
            size = _pick((1, 2, 4, 8), rng)
            entry["dtype"] = {1: "U8", 2: "F16", 4: "F32", 8: "I64"}[size]
            first, last = entry["data_offsets"]
            entry["shape"] = [(last - first) // size]
    return with_header(json.dumps(header).replace(json.dumps(DEEP), "[" * 100_000).encode(errors="replace"), rest)


def damaged_arrays(arrays: dict[str, np.ndarray], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Arrays of which one is missing, has other values, another type or another shape, or is there twice."""
    changed, name = dict(arrays), _pick(sorted(arrays), rng)
    array = arrays[name]
    match rng.integers(0, 9):
        case 0:
            del changed[name]
        case 1:
            changed[name] = np.full(array.shape, _pick((np.nan, np.inf, -1e308, 1e-320), rng))
        case 2:
            changed[name] = np.abs(np.nan_to_num(array)).astype(_pick(("f4", "i8", "u1", "?", "f2"), rng))
        case 3:
            changed[name] = np.stack([array, array])
        case 4:
            changed[name] = array.ravel()[:1].reshape(() if array.size else (0,))
        case 5:
            changed[_pick(("steps.extra", "steps.", "start.theta", "best.theta", "state"), rng)] = array
        case 6:
            changed[name] = np.zeros((0, *array.shape[1:]), array.dtype)
        case 7:
            changed[name] = np.full(array.shape, _pick((-1, 2**31, 2**62), rng)).astype(array.dtype)
        case _:
            changed[name] = rng.permutation(array.ravel()).reshape(array.shape)
    return changed
