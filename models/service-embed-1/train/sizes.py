"""How much is trained: `cpu` in about forty minutes of one core, `gpu` within minutes of a GPU."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Size:
    """Counts and rates of the recipe; batches are pairs of texts."""

    rounds: int
    """Description queries a synset."""
    width: int
    inner: int
    layers: int
    static_steps: int
    static_batch: int
    steps: int
    batch: int
    table_rate: float
    layer_rate: float


SIZES = {
    "cpu": Size(2, 256, 128, 1, 2000, 1024, 480, 512, 2e-3, 1e-3),
    "gpu": Size(6, 256, 256, 2, 10_000, 4096, 20_000, 2048, 2e-3, 1e-3),
}
