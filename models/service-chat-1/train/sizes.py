"""How large the model is and how long it is trained: `cpu` about 6 hours of two cores; `gpu` was not run yet."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Size:
    """Counts of the recipe."""

    vocabulary: int
    width: int
    layers: int
    heads: int
    key_heads: int
    inner: int
    conversations: int
    """In one step."""
    places: int
    """Most tokens of one part of a step, padding included: a cache takes few, a GPU many."""
    steps: int
    """At the full learning rate; a killed training goes on, and more steps may be added later."""
    decay: int
    """Steps in which the rate falls to nothing."""


CONTEXT = 1024
SIZES = {
    "cpu": Size(4096, 256, 8, 8, 4, 1024, 96, 2048, 12_000, 2_000),
    "gpu": Size(4096, 512, 8, 8, 4, 2048, 512, 65_536, 30_000, 8_000),
    "tiny": Size(512, 32, 2, 2, 1, 64, 8, 640, 20, 10),
}
"""`tiny` proves that every step runs; it answers nothing."""
