"""How large the model is and how long it is trained: `cpu` about 40 minutes of one core, `gpu` minutes of a GPU."""

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


CONTEXT = 512
SIZES = {
    "cpu": Size(2048, 128, 6, 4, 2, 512, 56, 640, 2120, 700),
    "gpu": Size(2048, 256, 8, 8, 4, 1024, 512, 65_536, 30_000, 8_000),
    "tiny": Size(512, 32, 2, 2, 1, 64, 8, 640, 20, 10),
}
"""`tiny` proves that every step runs; it answers nothing."""
