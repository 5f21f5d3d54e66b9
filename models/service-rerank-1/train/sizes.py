"""How much is trained: `cpu` within about a quarter of an hour of one core, `gpu` within minutes of a GPU."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Size:
    """Counts and rates of the recipe; a group is a query with one right passage and several wrong ones."""

    width: int
    inner: int
    layers: int
    groups: int
    steps: int
    batch: int
    wrong: int
    rate: float


SIZES = {
    "cpu": Size(256, 128, 1, 18_000, 900, 32, 7, 1.5e-3),
    "gpu": Size(256, 192, 3, 400_000, 20_000, 256, 15, 1e-3),
}
