"""True values that no formula gives, computed once in the project's own environment by bench/peers.py."""

import numpy as np
from common_problems import STORED, evaluation_points

from anagram.catalogue.references.allen_cahn import AllenCahnReference
from anagram.catalogue.references.collocation import integrated


def store() -> None:
    """Write them to where `common_problems.py` reads them."""
    times = evaluation_points("hunt")[:, 0]
    paths = integrated(lambda _, y: (y[0] * (1 - y[1] / 2), -y[1] * (1 - y[0] / 2)), (1.0, 1.0), 6.0, pieces=24)
    hunt = np.stack([np.asarray(path(times)) for path in paths], axis=1)
    allen_cahn = AllenCahnReference()(evaluation_points("allen-cahn"))[:, None]
    STORED.parent.mkdir(exist_ok=True)
    np.savez(STORED, **{"hunt": hunt, "allen-cahn": allen_cahn})


if __name__ == "__main__":
    store()
