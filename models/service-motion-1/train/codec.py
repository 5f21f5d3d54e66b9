"""The codec of a scene: what does not move, between code (or textures) and still tokens.

Principal components in closed form, with latents of equal fourth roots of variance; single numbers
are standardised. Decoding cuts off what is nearly nothing, so that the absent is exactly absent.
"""

import numpy as np
import torch
from torch import nn

from . import patterns, paths, shapes
from .land import FAR, NEAR, U

LIBRARIES = {
    "decal": patterns.decals,
    "body": patterns.bodies,
    "mark": patterns.marks,
    "band": patterns.bands,
    "tile": patterns.tiles,
}
CENTRED = ("sky", "profile")
LINES = ("line_0", "line_1", "line_2")
NUMBERS = ("decal_look", "body_look", "line_place", "mark_look", "band_look", "tile_look", "shadow")
REPEATED = ("line_place", "profile", "mark", "mark_look", "band", "band_look")
"""Parts that a scene has several of."""
FLAT_LINE = 0.003
"""Root mean square of a skyline (frame heights) that counts as flat."""
WAVES = {"line_0": (FAR, 2 * FAR), "line_1": (NEAR, 2 * NEAR), "line_2": (NEAR,)}
"""Of hills: radians a frame height of the longer of their two waves."""
HILLS_FROM, HILLS_WIDTH = {"line_0": 0.32, "line_1": 0.64, "line_2": 0.0}, 0.06
"""Share of a skyline's square that such waves explain where it is a hill: of towers, peaks and firs they explain less."""
GATES = {"decal_look": (5,), "body_look": (6, 7), "band_look": (7,), "tile_look": (5,), "shadow": (0,)}
"""Strengths: channels that are cut off when small."""
GATE_FROM, GATE_WIDTH = 0.06, 0.06
GROUPS = {"decal": (2, 4), "body": (1,) * 6, "mark": (1,) * 14, "band": (1,) * 12, "tile": (3, 3, 2, 2)}
"""Patterns that can be seen together: stars or clouds, one sun, rain or snow or mist or bubbles."""
SWITCHED = ("decal", "band", "tile")
"""Parts whose patterns are there or not."""
SWITCH_FROM, SWITCH_WIDTH = 0.3, 0.4
HARD_TILE = (0.85, 0.9, 0.97)
"""Rain, snow and bubbles are white or bluish: their colour has at least so much red, green and blue."""
SWITCHES = {"band_look": (8,), "tile_look": (6,)}
"""Channels that are 0 or 1."""


class SceneCodec(nn.Module):
    """For each part: mean, basis [numbers, channels] and gain [channels].

    Of patterns the numbers are weights; "back" turns components into weights, since the components
    belong to the textures that the weights give. The path has both too: it is made of curves.
    """

    def __init__(self):
        super().__init__()
        for name, size in texture_sizes().items():
            channels = shapes.PARTS[name]
            if name in LIBRARIES:
                self.register_buffer(f"{name}_back", torch.zeros(size, channels))
                self.register_buffer(f"{name}_library", stored(LIBRARIES[name]()), persistent=False)
            self.register_buffer(f"{name}_mean", torch.zeros(size))
            if name not in NUMBERS:
                self.register_buffer(f"{name}_basis", torch.zeros(size, channels))
            self.register_buffer(f"{name}_gain", torch.ones(channels))
            for index, frequency in enumerate(WAVES.get(name, ())):
                self.register_buffer(f"{name}_waves_{index}", hill_waves(frequency), persistent=False)
        self.register_buffer("path_mean", torch.zeros(paths.WEIGHTS))
        self.register_buffer("path_basis", torch.zeros(paths.WEIGHTS, shapes.PATH_CHANNELS))
        self.register_buffer("path_back", torch.zeros(paths.WEIGHTS, shapes.PATH_CHANNELS))
        self.register_buffer("path_gain", torch.ones(shapes.PATH_CHANNELS))

    def encode(self, part: str, value: torch.Tensor) -> torch.Tensor:
        """Numbers [N, size] -> latents [N, channels]."""
        centred = value - getattr(self, f"{part}_mean")
        if part in NUMBERS:
            return centred * getattr(self, f"{part}_gain")
        return centred @ getattr(self, f"{part}_basis") * getattr(self, f"{part}_gain")

    def decode(self, part: str, latents: torch.Tensor) -> torch.Tensor:
        """latents [N, channels] -> numbers, or of patterns the flat textures, [N, size]."""
        scaled = latents / getattr(self, f"{part}_gain")
        mean = getattr(self, f"{part}_mean")
        if part in LIBRARIES:
            return self.pattern_weights(part, latents) @ (getattr(self, f"{part}_library").float() / 127).flatten(1)
        if part not in NUMBERS:
            value = scaled @ getattr(self, f"{part}_basis").T + mean
            return self._skyline(part, value) if part in LINES else value
        return clean(part, scaled + mean)

    def pattern_weights(self, part: str, latents: torch.Tensor) -> torch.Tensor:
        """latents [N, channels] -> weights of the part's patterns [N, K]."""
        scaled = latents / getattr(self, f"{part}_gain")
        return only_one_group(part, scaled @ getattr(self, f"{part}_back").T)

    def _skyline(self, part, lines):
        """Hills are smooth and plains flat: what else is in such a line is left out."""
        whole = lines.square().sum(1, keepdim=True) + 1e-9
        waves = [getattr(self, f"{part}_waves_{index}") for index in range(len(WAVES[part]))]
        smooth = torch.stack([lines @ wave @ wave.T for wave in waves])
        share = smooth.square().sum(2, keepdim=True) / whole
        best = (share >= share.amax(0, keepdim=True)).to(lines.dtype)
        smooth, share = (smooth * best).sum(0), share.amax(0)
        return flatten_lines(lines + (smooth - lines) * ((share - HILLS_FROM[part]) / HILLS_WIDTH).clamp(0, 1))

    def agreed(self, code: dict[str, torch.Tensor], band: torch.Tensor) -> dict[str, torch.Tensor]:
        """What the painter takes, where the parts do not contradict the bands' latents: a sea is level and alone
        mirrors the sun; under water there is no sky."""
        weights = self.pattern_weights("band", band).amax(0)
        sea, depth = weights[: patterns.RAYS].amax(), weights[patterns.RAYS : patterns.DRIFT].amax()
        above = 1 - depth
        one = torch.ones_like(above)
        body = torch.stack([*[one] * 6, above, above * sea])
        decal = torch.stack([*[one] * 5, above])
        return code | {
            "line_0": code["line_0"] * (1 - sea),
            "body": code["body"] * above,
            "body_look": code["body_look"] * body,
            "decal_look": code["decal_look"] * decal,
        }

    def textures(self, tokens: torch.Tensor) -> dict[str, torch.Tensor]:
        """Still tokens [13, 64] -> what the painter takes."""
        out = {}
        parts = split_tokens(tokens)
        for name, latents in parts.items():
            if name == "sprite":
                continue
            value = self.decode(name, latents)
            out[name] = value.reshape(len(latents), *texture_shape(name))
        code = {name: value if name in REPEATED else value[0] for name, value in out.items()}
        return self.agreed(code, parts["band"])


def clean(part, value):
    """Cuts off small strengths, rounds switches."""
    columns = list(value.split(1, 1))
    for index in GATES.get(part, ()):
        gate = ((columns[index] - GATE_FROM) / GATE_WIDTH).clamp(0, 1)
        columns[index] = (columns[index] * gate).clamp(0, 1)
    for index in SWITCHES.get(part, ()):
        columns[index] = switched(columns[index])
    if part == "tile_look":
        for index, least in enumerate(HARD_TILE, 2):
            columns[index] = torch.maximum(columns[index], least * (1 - columns[6]))
    return torch.cat(columns, 1)


def switched(value):
    """0 or 1, but for a narrow slope between."""
    return ((value - SWITCH_FROM) / SWITCH_WIDTH).clamp(0, 1)


def only_one_group(part, weights):
    """Weights of patterns [N, K] without faint ones and without all but the strongest group."""
    sizes = GROUPS[part]
    sums = torch.stack([group.clamp(min=0).sum(1) for group in weights.split(sizes, 1)], 1)
    strongest = (sums >= sums.amax(1, keepdim=True)).to(weights.dtype)
    member = torch.repeat_interleave(torch.eye(len(sizes)), torch.tensor(sizes), 1)
    there = switched(weights) if part in SWITCHED else weights * ((weights - 0.2) / 0.15).clamp(0, 1)
    return there * (strongest @ member)


def hill_waves(frequency: float) -> torch.Tensor:
    """Orthonormal [440, 4]: sine and cosine of two waves."""
    angles = np.outer(U, [frequency, 2 * frequency])
    waves = np.concatenate([np.sin(angles), np.cos(angles)], 1)
    return torch.from_numpy(np.linalg.qr(waves)[0]).float()


def flatten_lines(lines):
    """A skyline that hardly rises is flat."""
    size = (lines.square().mean(1, keepdim=True) + 1e-12).sqrt()
    return lines * ((size - FLAT_LINE) / FLAT_LINE).clamp(0, 1)


def split_tokens(tokens) -> dict[str, torch.Tensor]:
    """Still tokens [13, 64] -> latents of each part [count, channels], in the order of the tokens."""
    found: dict[str, list] = {}
    for index, names in enumerate(shapes.STILL_TOKENS):
        start = 0
        for name in names:
            end = start + shapes.PARTS[name]
            found.setdefault(name, []).append(tokens[index : index + 1, start:end])
            start = end
    return {name: torch.cat(items) for name, items in found.items()}


def texture_shape(name) -> tuple[int, ...]:
    """Shape of one texture, or (count,) of numbers."""
    if name in LIBRARIES:
        return tuple(LIBRARIES[name]().shape[1:])
    named = {
        "sky": (3, shapes.SKY_ROWS),
        **{line: (shapes.LINE_SAMPLES,) for line in LINES},
        "profile": (3, shapes.PROFILE_ROWS),
    }
    return named.get(name, (shapes.PARTS[name],))


def texture_sizes() -> dict[str, int]:
    """Numbers of each part, flat; of patterns their count. The sprite has a codec of its own."""
    names = [name for name in shapes.PARTS if name != "sprite"]
    sizes = {name: int(torch.tensor(texture_shape(name)).prod()) for name in names}
    return sizes | {name: len(library()) for name, library in LIBRARIES.items()}


def stored(library) -> torch.Tensor:
    """Patterns in -1..1 as int8 of 1/127."""
    return torch.from_numpy(library * 127).round().to(torch.int8)


def latent_gain(variance: torch.Tensor) -> torch.Tensor:
    """Gain that turns standard deviations s into sqrt(s) / rms(sqrt(s)): flat, but not white."""
    deviation = variance.clamp(min=1e-12).sqrt()
    target = deviation.sqrt()
    return target / target.square().mean().sqrt() / deviation
