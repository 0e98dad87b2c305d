"""Chebyshev polynomials along the axes of a box, more of them along some axes than along the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from anagram.errors import SettingError
from anagram.models.inputs import Kind, axis_kinds
from anagram.models.mlp import MLP
from anagram.models.spec import ModelSpec
from anagram.models.waves import MOST_WIDE, WaveNetwork, product_network, split, table_of, total_degrees
from anagram.statement.domains import Box, Domain
from anagram.statement.domains.bends import Bend, bends_as_lists, checked_bends


class Chebyshev(ModelSpec):
    """Chebyshev polynomials on a box, finer along some of its axes: ``Chebyshev(400, finest=100, along="x")``.

    It is linear in its parameters: u = Σ θ_k T_i(x) T_j(t), with `finest` polynomials T_i along the axes that are
    named. An evolution with thin fronts needs many of them along space and few along a short stretch of time.

    Args:
        width: the number of functions.
        finest: how many polynomials there are along the axes that are named, from the lowest total degree on. The rest
            of the width are polynomials along the other axes, for each of them.
        along: the names of the axes, one or several.
        bends: by axis, a change of its coordinate z in [−1, 1]: s(z) as coefficients of Chebyshev polynomials, growing
            from −1 to 1. The polynomials are then those of s; thin layers are wide where s grows fast.
        offset, size: see `anagram.MLP`.
    """

    closes = False
    is_linear = True

    def __init__(
        self,
        width: int,
        *,
        finest: int,
        along: str | Sequence[str],
        bends: Mapping[str, Bend | Sequence[float]] | None = None,
        offset: float | Sequence[float] = 0.0,
        size: float | Sequence[float] = 1.0,
    ) -> None:
        for name, value in (("width", width), ("finest", finest)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value <= MOST_WIDE:
                raise SettingError(f"{name} of Chebyshev is a whole number from 1 to {MOST_WIDE}, not {value!r}")
        names = (along,) if isinstance(along, str) else tuple(along) if isinstance(along, list | tuple) else ()
        if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise SettingError(f'along= of Chebyshev names axes, as in along="x" or along=("x", "y"), not {along!r}')
        self.like = MLP(int(width), offset=offset, size=size)  # says what is wrong with the rest
        self.width, self.finest, self.along = int(width), min(int(finest), int(width)), names
        self.bends = checked_bends(bends, "Chebyshev")

    def build(self, domain: Domain, outputs: int, key: jax.Array) -> WaveNetwork:
        kinds = axis_kinds(domain)
        if not isinstance(domain, Box) or any(kind is not Kind.OPEN for kind in kinds):
            raise SettingError(
                "Chebyshev is for boxes without periodic axes and parameters: take Waves, Features or MLP"
            )
        for what, names in (("along", self.along), ("bends", self.bends)):
            unknown = [name for name in names if name not in domain.axes]
            if unknown:
                raise SettingError(f"{what}= of Chebyshev: there is no axis '{unknown[0]}' in {', '.join(domain.axes)}")
        fine, coarse = self.split(domain)
        named = [k for k, axis in enumerate(domain.axes) if axis in self.along]
        others = [k for k, axis in enumerate(domain.axes) if axis not in self.along]
        along = table_of(kinds, named, total_degrees(fine.max() + 1, len(named)))
        across = table_of(kinds, others, total_degrees(coarse.max() + 1, len(others)))
        return product_network(domain, self.like, outputs, along, across, fine, coarse, self.along, self.bends)

    def split(self, domain: Domain) -> tuple[np.ndarray, np.ndarray]:
        """Which polynomial along the named axes, and which along the others, each function is the product of."""
        return split(self.width, self.finest, is_all=set(domain.axes) <= set(self.along))

    def count(self, domain: Domain, outputs: int) -> int:
        return outputs * (self.width + 1)

    def options(self) -> dict[str, Any]:
        units = self.like.options()
        own: dict[str, Any] = {"width": self.width, "finest": self.finest, "along": list(self.along)}
        if self.bends:
            own["bends"] = bends_as_lists(self.bends)
        return own | {name: units[name] for name in ("offset", "size")}

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> Chebyshev:
        options = dict(options)
        return cls(options.pop("width"), **options)

    def __repr__(self) -> str:
        bent = f", bent along {', '.join(self.bends)}" if self.bends else ""
        return f"Chebyshev({self.width}, finest={self.finest}, along={', '.join(self.along)}{bent})"
