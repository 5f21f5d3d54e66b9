"""How much is trained: `cpu` within about half an hour of one core, `gpu` with many more steps and wider."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Size:
    """Counts of the recipe."""

    pieces: int
    prompt_steps: int
    arranger_steps: int
    planner_steps: int
    composer_steps: int
    composer_width: int
    timbre_steps: int
    mixes: int
    probe_steps: int


SIZES = {
    "cpu": Size(3000, 600, 1200, 500, 2400, 192, 2500, 1400, 1500),
    "gpu": Size(60_000, 6000, 6000, 5000, 60_000, 384, 20_000, 20_000, 8000),
}
