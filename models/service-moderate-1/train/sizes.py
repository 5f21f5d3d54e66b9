"""How much is trained: `cpu` within about a quarter of an hour of one core, `gpu` within minutes of a GPU."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Size:
    """Counts and rates of the recipe."""

    width: int
    inner: int
    layers: int
    sentences: int
    steps: int
    batch: int
    rate: float


SIZES = {
    "cpu": Size(192, 96, 2, 150_000, 800, 128, 2e-3),
    "gpu": Size(192, 192, 3, 1_000_000, 20_000, 512, 1e-3),
}
