"""Where rows lie: the points of a batch are spread over devices, and sums over points are sums across devices.

This is the one place that knows of devices. A layout of one device spreads nothing, and all programs are then what
they would be without it. With more, programs see the same batches and parameters on every device; inside of them each
device takes its share of the points, and what leaves it are sums. Shares that do not come out even are filled up with
copies of points that weigh nothing.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array

from anagram.environment import quick_compilation
from anagram.errors import SettingError

AXIS = "points"
ALL = "all"
GROUP = 8  # triangles at most that are gathered and factorised together

EVERYWHERE, BY_POINTS = PartitionSpec(), PartitionSpec(AXIS)


@dataclass(frozen=True)
class Layout:
    """The devices that points are spread over; fewer than two for none in particular."""

    devices: tuple[Any, ...] = ()

    @property
    def count(self) -> int:
        """Over how many devices points are spread."""
        return max(1, len(self.devices))

    @property
    def spreads(self) -> bool:
        """Whether there is more than one device."""
        return len(self.devices) > 1

    def __str__(self) -> str:
        return " ".join(str(device.id) for device in self.devices) if self.spreads else ""

    @functools.cached_property
    def mesh(self) -> Mesh:
        """All devices along one axis."""
        return Mesh(np.array(self.devices), (AXIS,))

    @functools.cached_property
    def everywhere(self) -> NamedSharding:
        """The same on all devices."""
        return NamedSharding(self.mesh, EVERYWHERE)

    # -- programs -------------------------------------------------------------------------------------
    def jit(self, function: Callable[..., Any], options: dict[str, Any] | None = None) -> Any:
        """A compiled function whose arguments and results are the same on all devices."""
        if not self.spreads:
            return jax.jit(function, compiler_options=options)
        here = self.everywhere
        return jax.jit(function, in_shardings=here, out_shardings=here, compiler_options=options)

    def quick_jit(self, function: Callable[..., Any]) -> Any:
        """Compiled soon, for functions that are called a few times."""
        return self.jit(function, quick_compilation())

    def program(self, compiled: Any) -> Any:
        """A compiled function that takes arguments from wherever they are."""
        return _Placed(compiled, self) if self.spreads else compiled

    def put(self, tree: Any) -> Any:
        """Arrays as programs take them: on all devices, also on those of other processes that do the same."""
        return jax.tree.map(self._put, tree) if self.spreads else tree

    def _put(self, leaf: Any) -> Any:
        if isinstance(leaf, jax.Array) and leaf.sharding == self.everywhere:
            return leaf
        values = np.asarray(leaf)
        values = values.astype(jax.dtypes.canonicalize_dtype(values.dtype), copy=False)
        return jax.make_array_from_callback(values.shape, self.everywhere, lambda index: values[index])

    # -- inside of programs ---------------------------------------------------------------------------
    def share(self, count: int) -> int:
        """How many of so many points one device has."""
        return -(-count // self.count)

    def over_points(self, function: Callable[..., Any], taken: Any, given: Any) -> Any:
        """A function that each device carries out by itself, on its share of the points.

        `taken` and `given` say of its arguments and results whether they lie `BY_POINTS` or are the same `EVERYWHERE`.
        Gradients inside of it are those of one share: they are not added up.
        """
        return jax.shard_map(function, mesh=self.mesh, in_specs=taken, out_specs=given, check_vma=False)

    def own(self, array: Array, *, weighs: bool = True) -> Array:
        """The share of this device of an array with a leading axis of points, inside of `over_points`.

        All shares have the same length: the last ones are filled up with copies, or with zeros if they are weights.
        """
        count, share = len(array), self.share(len(array))
        first = jax.lax.axis_index(AXIS) * share
        if count % share == 0 and count // share == self.count:
            return jax.lax.dynamic_slice_in_dim(array, first, share)
        index = first + jnp.arange(share)
        there = array[jnp.minimum(index, count - 1)]
        return there if weighs else jnp.where((index < count).reshape(-1, *[1] * (array.ndim - 1)), there, 0.0)

    def summed(self, function: Callable[..., Any], same: Any, points: Any, weights: Any) -> Any:
        """The sum over points of what a function of arrays adds up over a leading axis.

        It is called with `same`, which all points see, then with the arrays of points and with their weights; weights
        of points that are filled up are zero.
        """
        if not self.spreads:
            return function(same, points, weights)

        def share(same: Any, points: Any, weights: Any) -> Any:
            own = jax.tree.map(self.own, points), jax.tree.map(lambda weight: self.own(weight, weighs=False), weights)
            return jax.lax.psum(function(same, *own), AXIS)

        return self.over_points(share, EVERYWHERE, EVERYWHERE)(same, points, weights)


class _Placed:
    """A compiled function whose arguments are put on all devices first."""

    def __init__(self, compiled: Any, layout: Layout) -> None:
        self.compiled, self.layout = compiled, layout

    def __call__(self, *arguments: Any) -> Any:
        return self.compiled(*self.layout.put(arguments))

    @property
    def out_info(self) -> Any:
        """What it returns."""
        return self.compiled.out_info

    def as_text(self) -> str:
        """The program that the devices carry out."""
        return self.compiled.as_text()

    def memory_analysis(self) -> Any:
        """What each device holds of it."""
        return self.compiled.memory_analysis()


# -- which devices --------------------------------------------------------------------------------------
_CURRENT: contextvars.ContextVar[Layout | None] = contextvars.ContextVar("layout", default=None)


def current() -> Layout:
    """The devices of this run; none in particular outside of `on_devices`."""
    return _CURRENT.get() or Layout()


def layout_of(devices: int | str | None) -> Layout:
    """So many devices, or ``all`` there are on all hosts; None for those that are in use already, or else all."""
    if devices is None and _CURRENT.get() is not None:
        return current()
    there = jax.devices()
    if devices is None or devices == ALL:
        count = len(there)
    elif isinstance(devices, bool) or not isinstance(devices, int | np.integer) or devices < 1:
        raise SettingError(f"devices must be '{ALL}' or a number of devices, at least one, not {devices!r}")
    else:
        count = int(devices)
    if count > len(there):
        kind = there[0].platform
        more = ""
        if kind == "cpu":
            more = f"; XLA_FLAGS=--xla_force_host_platform_device_count={count} makes so many out of one processor"
        raise SettingError(f"{count} devices are wanted, and JAX sees {len(there)} ({kind}): take fewer{more}")
    if jax.process_count() > 1 and count < len(there):
        raise SettingError(
            f"{count} devices are wanted of the {len(there)} that {jax.process_count()} processes have: processes "
            "without a device have nothing to do; begin fewer of them, or leave devices out"
        )
    return Layout(tuple(there[:count])) if count > 1 else Layout()


@contextlib.contextmanager
def on_devices(devices: int | str | None = ALL) -> Iterator[Layout]:
    """Spread the points of all that is computed inside over devices: a number of them, or ``all``."""
    token = _CURRENT.set(layout_of(devices))
    try:
        yield current()
    finally:
        _CURRENT.reset(token)
