"""Sizes of the two graphs: those of Wan 2.1 1.3B (its published configuration), and tiny ones of the same form."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Denoiser:
    """A diffusion transformer over patches of 1 x 2 x 2 latents."""

    width: int
    layers: int
    heads: int
    hidden: int
    text_tokens: int
    text_width: int
    channels: int
    frames: int
    """Latent frames; `height` and `width_latents` are latents as well."""
    height: int
    width_latents: int
    time_features: int = 256

    @property
    def grid(self) -> tuple[int, int, int]:
        """Patches in time, height and width."""
        return self.frames, self.height // 2, self.width_latents // 2

    @property
    def tokens(self) -> int:
        frames, rows, columns = self.grid
        return frames * rows * columns

    @property
    def head_width(self) -> int:
        return self.width // self.heads

    @property
    def flops(self) -> float:
        """Multiplications and additions of one run: linear layers of the video's tokens, and attention."""
        linear = self.layers * (6 * self.width**2 + 2 * self.width * self.hidden) * self.tokens
        text = self.layers * 2 * self.width**2 * self.text_tokens
        attention = self.layers * 2 * self.width * self.tokens * (self.tokens + self.text_tokens)
        return 2.0 * (linear + text + attention)


@dataclass(frozen=True)
class Decoder:
    """A causal convolutional decoder: 8 x 8 pixels and 4 frames of each latent, one window of them a run."""

    channels: int
    width: int
    """Channels at full size; four times as many where the picture is smallest."""
    frames: int
    height: int
    width_latents: int


@dataclass(frozen=True)
class Clip:
    """What one job runs: `steps` denoising steps of two guided branches, then every window."""

    steps: int
    branches: int
    windows: int


@dataclass(frozen=True)
class Sizes:
    denoiser: Denoiser
    decoder: Decoder
    clip: Clip
    pixels: tuple[int, int]
    """Width and height of a frame."""


FULL = Sizes(
    Denoiser(1536, 30, 12, 8960, 512, 4096, 16, 21, 60, 104),
    Decoder(16, 96, 3, 60, 104),
    Clip(steps=20, branches=2, windows=7),
    (832, 480),
)
"""81 frames of 832 x 480: 21 x 60 x 104 latents, 32 760 tokens."""

TINY = Sizes(
    Denoiser(64, 2, 4, 128, 8, 32, 16, 2, 8, 8),
    Decoder(16, 8, 2, 4, 4),
    Clip(steps=2, branches=2, windows=2),
    (32, 32),
)
"""Proves the script without a GPU; its figures say nothing."""
