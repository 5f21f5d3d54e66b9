"""Patterns that scenes weigh: clouds, stars, windows, waves, rain. Each is drawn once, seeded."""

import functools

import numpy as np

from . import shapes

SEED = 20


def soft(distance, texel):
    """Coverage 0..1 of a shape from its signed distance, one texel of ramp."""
    return np.clip(0.5 - distance / texel, 0, 1)


def grid(rows, columns, height, width, top=0.0):
    """Centres of texels: y [rows, 1], x [1, columns]."""
    y = top + (np.arange(rows) + 0.5) * height / rows
    x = (np.arange(columns) + 0.5) * width / columns
    return y[:, None], x[None]


def wrapped(distance, period):
    """The nearest repetition of a distance."""
    return (distance + period / 2) % period - period / 2


def dots(y, x, places, periods, texel):
    """Discs (row, column, radius) on a plane that repeats with the periods (None = does not)."""
    cover = np.zeros(np.broadcast_shapes(y.shape, x.shape))
    for row, column, radius in places:
        dy = y - row if periods[0] is None else wrapped(y - row, periods[0])
        dx = x - column if periods[1] is None else wrapped(x - column, periods[1])
        cover = np.maximum(cover, soft(np.hypot(dy, dx) - radius, texel))
    return cover


def cloud(y, x, row, column, size, period, texel):
    """A flat-bottomed cloud of four discs."""
    cover = np.zeros(np.broadcast_shapes(y.shape, x.shape))
    for dx, dy, radius in ((-0.085, 0, 0.032), (-0.03, -0.02, 0.05), (0.04, -0.012, 0.042), (0.095, 0.002, 0.03)):
        away = wrapped(x - column - dx * size, period)
        cover = np.maximum(cover, soft(np.hypot(y - row - dy * size, away) - radius * size, texel))
    base = np.abs(wrapped(x - column, period)) - 0.125 * size
    slab = np.maximum(base, np.abs(y - row - 0.012 * size) - 0.02 * size)
    cover = np.maximum(cover, soft(slab, texel))
    return cover * soft(y - row - 0.026 * size, texel)


@functools.cache
def decals() -> np.ndarray:
    """Two star fields, then four groups of clouds: [6, 128, 512]."""
    rng = np.random.default_rng(SEED)
    period, texel = shapes.DECAL_PERIOD, shapes.DECAL_HEIGHT / shapes.DECAL_ROWS
    y, x = grid(shapes.DECAL_ROWS, shapes.DECAL_COLUMNS, shapes.DECAL_HEIGHT, period)
    found = []
    for _ in range(2):
        places = np.stack(
            [rng.uniform(0, 0.62, 55), rng.uniform(0, period, 55), rng.uniform(0.0035, 0.0085, 55)], 1
        )
        found.append(dots(y, x, places, (None, period), texel))
    for group in range(4):
        cover = 0
        for index in range(2):
            column = (group + 4 * index + 0.5 + rng.uniform(-0.25, 0.25)) * period / 8
            row = rng.uniform(0.08, 0.26)
            cover = np.maximum(cover, cloud(y, x, row, column, rng.uniform(0.8, 1.35), period, texel))
        found.append(cover)
    return np.stack(found).astype(np.float32)


@functools.cache
def bodies() -> np.ndarray:
    """Suns of dawn, noon and sunset, moon, two planets, premultiplied: [6, 4, 64, 64]."""
    side = shapes.BODY_SIDE
    place = ((np.arange(side) + 0.5) / side * 2 - 1) * shapes.BODY_EXTENT
    y, x, texel = place[:, None], place[None], 2 * shapes.BODY_EXTENT / side
    disc = soft(np.hypot(x, y) - 1, texel)
    found = [np.concatenate([np.array(c)[:, None, None] * disc, disc[None]]) for c in SUN_COLOURS[:3]]
    moon = layer(np.zeros((4, side, side)), disc, SUN_COLOURS[3])
    for cx, cy, radius in ((0.3, -0.2, 0.25), (-0.35, 0.3, 0.17), (-0.1, -0.5, 0.12)):
        moon = layer(moon, soft(np.hypot(x - cx, y - cy) - radius, texel), (0.80, 0.81, 0.76))
    found.append(moon)
    for body, stripe, ring in PLANETS:
        tilted_x, tilted_y = x * 0.95 + y * 0.31, y * 0.95 - x * 0.31
        around = np.abs(np.hypot(tilted_x / 1.75, tilted_y / 0.36) - 1) * 0.6 - 0.12
        planet = layer(np.zeros((4, side, side)), soft(around, texel), ring)
        planet = layer(planet, disc, body)
        planet = layer(planet, disc * soft(np.abs(tilted_y + 0.25) - 0.16, texel), stripe)
        found.append(layer(planet, soft(around, texel) * (tilted_y > 0), ring))
    return np.stack(found).astype(np.float32)


SUN_COLOURS = [(1.0, 0.88, 0.66), (1.0, 0.97, 0.75), (1.0, 0.80, 0.35), (0.93, 0.94, 0.86)]
PLANETS = [
    ((0.75, 0.45, 0.38), (0.95, 0.78, 0.55), (0.85, 0.78, 0.62)),
    ((0.36, 0.55, 0.75), (0.62, 0.80, 0.88), (0.75, 0.72, 0.85)),
]


def layer(under, cover, colour):
    """A colour [3] over a premultiplied picture [4, H, W]."""
    over = np.concatenate([np.array(colour)[:, None, None] * cover, cover[None]])
    return under * (1 - cover) + over


@functools.cache
def marks() -> np.ndarray:
    """What lies on the land, -1..1 (negative shows the second colour): [MARKS, 112, 440]."""
    rng = np.random.default_rng(SEED + 1)
    height = shapes.MARK_BOTTOM - shapes.MARK_TOP
    texel = height / shapes.MARK_ROWS
    v, u = grid(shapes.MARK_ROWS, shapes.MARK_COLUMNS, height, shapes.LINE_WIDTH, shapes.MARK_TOP)
    found = []
    for spacing, columns in ((FAR_STREET, 3), (NEAR_STREET, 4)):
        for _ in range(4):
            found.append(windows(v, u, spacing, columns, rng, texel))
    zigzag = 0.016 * np.abs(wrapped(u, 0.05) / 0.025 * 2 - 1) + 0.012 * np.sin(u * 17)
    found.append(soft(v + 0.17 + zigzag, texel))
    dash = np.maximum(np.abs(v - 0.085) - 0.009, np.abs(wrapped(u, 0.25)) - 0.07)
    found.append(soft(dash, texel))
    ripple = np.abs(wrapped(v + 0.012 * np.sin(u * 11 + 3 * np.sin(u * 2)), 0.055)) - 0.003
    found.append(soft(np.maximum(ripple, 0.02 - v), texel) * (np.sin(u * 5) > -0.2))
    for count, low, high in ((34, 0.005, 0.009), (34, 0.004, 0.007), (26, 0.005, 0.012)):
        places = np.stack(
            [rng.uniform(0.03, 0.115, count), rng.uniform(0, 2.2, count), rng.uniform(low, high, count)], 1
        )
        half = count // 2
        positive = dots(v, u, places[:half], (None, None), texel)
        found.append(positive - dots(v, u, places[half:], (None, None), texel))
    return np.stack(found).astype(np.float32)


FAR_STREET, NEAR_STREET, FLOOR = 0.13, 0.19, 0.055
WINDOWS_FAR, WINDOWS_NEAR, SNOW_CAP, DASHES, RIPPLES, FLOWERS, TUFTS, PEBBLES = 0, 4, 8, 9, 10, 11, 12, 13


def windows(v, u, spacing, columns, rng, texel):
    """Lit (1) and dark (-1) windows of a row of houses whose walls lie at multiples of spacing."""
    across = u / spacing * columns
    down = v / FLOOR
    dx = (0.26 - np.abs(across % 1 - 0.5)) * spacing / columns
    dy = (0.27 - np.abs(down % 1 - 0.5)) * FLOOR
    cover = soft(-dx, texel) * soft(-dy, texel)
    lit = rng.random((40, 80)) < 0.6
    signs = np.where(lit[np.floor(down).astype(int) % 40, np.floor(across).astype(int) % 80], 1.0, -1.0)
    return cover * signs * (v < 0.0)


@functools.cache
def bands() -> np.ndarray:
    """Waves of the sea and of the beach, light under water, drifting clouds, ripples: [12, 128, 512]."""
    rng = np.random.default_rng(SEED + 2)
    texel = shapes.BAND_HEIGHT / shapes.BAND_ROWS
    y, x = grid(shapes.BAND_ROWS, shapes.BAND_COLUMNS, shapes.BAND_HEIGHT, shapes.BAND_PERIOD)
    turn = 2 * np.pi * x / shapes.BAND_PERIOD
    found = []
    for depth in (0.46, 0.16):
        for variant in range(2):
            for parity in (0, 1):
                found.append(waves(y, turn, depth, parity, rng.uniform(0, 6, 6), variant, texel))
    for k, lean in ((3, 5.0), (5, -4.0)):
        ray = 0.5 + 0.5 * np.sin(k * turn + lean * y + 0.8 * np.sin(2 * turn))
        found.append(ray**2 * np.clip(1 - y / 0.62, 0, 1))
    for count in (2, 3):
        cover = 0
        for index in range(count):
            column = (index + rng.uniform(0.2, 0.8)) * shapes.BAND_PERIOD / count
            row, size = rng.uniform(0.12, 0.5), rng.uniform(0.6, 1.1)
            cover = np.maximum(cover, cloud(y, x, row, column, size, shapes.BAND_PERIOD, texel))
        found.append(cover)
    return np.stack(found).astype(np.float32)


SEA, SHORE, RAYS, DRIFT = 0, 4, 8, 10


def waves(y, turn, depth, parity, phases, variant, texel):
    """Lines of foam, every second row; farther ones are finer and closer."""
    cover = np.zeros(np.broadcast_shapes(y.shape, turn.shape))
    rows = 6 if depth > 0.3 else 4
    for row in range(parity, rows, 2):
        near = (row + 0.6) / rows
        count = (6, 5, 5, 4, 3, 3)[row] + variant
        angle = count * turn + phases[row]
        high = (0.004 + 0.012 * near) * (1 if depth > 0.3 else 0.6)
        line = np.abs(y - depth * near**1.7 - high * np.sin(angle)) - (0.0028 + 0.0045 * near)
        cover = np.maximum(cover, soft(line, texel) * np.clip(0.6 + 1.4 * np.sin(angle + 1.2 + row), 0, 1))
    return cover


@functools.cache
def tiles() -> np.ndarray:
    """Rain, snow, mist, bubbles: [10, 256, 256]."""
    rng = np.random.default_rng(SEED + 3)
    period = shapes.TILE_PERIOD
    texel = period / shapes.TILE_SIDE
    y, x = grid(shapes.TILE_SIDE, shapes.TILE_SIDE, period, period)
    found = []
    for count in (22, 22, 16):
        cover = 0
        for _ in range(count):
            dy = wrapped(y - rng.uniform(0, period), period)
            dx = wrapped(x - rng.uniform(0, period) + 0.14 * dy, period)
            long = rng.uniform(0.022, 0.042)
            cover = np.maximum(cover, soft(np.maximum(np.abs(dx) - 0.0022, np.abs(dy) - long), texel))
        found.append(cover)
    for count, low, high in ((16, 0.005, 0.008), (14, 0.006, 0.011), (8, 0.009, 0.014)):
        places = np.concatenate(
            [rng.uniform(0, period, (count, 2)), rng.uniform(low, high, (count, 1))], 1
        )
        found.append(dots(y, x, places, (period, period), texel))
    for _ in range(2):
        mist = 0
        for k, l in ((1, 0), (0, 1), (1, 1), (2, 1), (1, -2), (2, -1)):
            mist = mist + np.sin(2 * np.pi * (k * x + l * y) / period + rng.uniform(0, 6)) / (k * k + l * l) ** 0.5
        found.append(np.clip(0.5 + mist / 4.5, 0, 1))
    for count in (7, 5):
        cover = 0
        for _ in range(count):
            away = np.hypot(
                wrapped(y - rng.uniform(0, period), period), wrapped(x - rng.uniform(0, period), period)
            )
            radius = rng.uniform(0.007, 0.016)
            cover = np.maximum(cover, soft(np.abs(away - radius) - 0.0022, texel))
        found.append(cover)
    return np.stack(found).astype(np.float32)


RAIN, SNOW, MIST, BUBBLES = 0, 3, 6, 8
