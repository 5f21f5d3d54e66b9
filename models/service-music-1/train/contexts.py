"""What the arranger, the planner and the composer read: the same arithmetic as in the server."""

import math

import numpy as np

from . import vocabulary as v
from .attributes import Attributes
from .chooser import Form

NO_STEP, STEP_VALUES = v.STEP_TOKENS, 61
"""Token 50 stands for `before the start`; chords go to 59, and 60 is no chord."""
NO_CHORD = v.CHORDS
NO_BAR, PLAN_VALUES = v.PLAN_TOKENS, v.PLAN_TOKENS + 1
STEP_LAGS = [1, 2, 3, 4, 6, 8]
"""Rows: source, bar ago, 4 bars ago, sounding, age, 2 bars ago, then these steps ago."""
OLDEST = 31
PACES = 8

ARRANGER = Form(v.ROLES, v.PLAYERS, 0, 0, 5 + len(v.NAMED), 10, 0, 128, blocks=1, head_width=32)
PLANNER = Form(len(v.PLAN_FIELDS), v.PLAN_TOKENS, len(v.BAR_LAGS), 0, 14, PLAN_VALUES, 0, 160, 24)


def composer_form(width: int) -> Form:
    """The composer of a width."""
    return Form(len(v.VOICES), v.STEP_TOKENS, 6 + len(STEP_LAGS), 4, 27, STEP_VALUES, len(v.VOICES) + 1, width)


def pace(bpm: float) -> int:
    """Octave fifths of the tempo above 40 beats a minute: 0 to 8."""
    return int(min(PACES, max(0, math.log(bpm / 40) / 0.2)))


def arranger_context(attributes: Attributes, wishes: list[int]) -> list[int]:
    """[20]."""
    return [*nature(attributes), v.ENERGIES.index(attributes.energy), *wishes]


def nature(attributes: Attributes) -> list[int]:
    """Genre, mode, metre, pace."""
    return [
        v.GENRES.index(attributes.genre), v.MODES.index(attributes.mode), v.METERS.index(attributes.meter),
        pace(attributes.bpm),
    ]  # fmt: skip


def player_numbers(attributes: Attributes) -> list[int]:
    """Player of each track."""
    return [1 + v.NAMED.index(player) if player else v.NOBODY for player in attributes.players.values()]


def section_ages(plan: np.ndarray) -> np.ndarray:
    """[bars]: bars since the section, or its repeat, began."""
    ages = np.zeros(len(plan), np.int64)
    for bar in range(1, len(plan)):
        ages[bar] = 0 if (plan[bar, :2] != plan[bar - 1, :2]).any() else ages[bar - 1] + 1
    return ages


def planner_inputs(attributes: Attributes, plan: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """History [bars, 6, 11] and context [bars, 14] of every bar of a plan."""
    bars = len(plan)
    padded = np.concatenate([np.full((max(v.BAR_LAGS), plan.shape[1]), NO_BAR), plan])
    start = max(v.BAR_LAGS)
    history = np.stack([padded[start - lag : start - lag + bars] for lag in v.BAR_LAGS], 1)
    number = np.arange(bars)
    ages = np.concatenate([[0], section_ages(plan)[:-1]])
    fixed = [*nature(attributes), v.ENERGIES.index(attributes.energy), *player_numbers(attributes)]
    columns = [np.minimum(number, 63), np.minimum(bars - 1 - number, 63), np.minimum(ages, 15)]
    columns += [np.full(bars, value) for value in fixed]
    return history, np.stack(columns, 1)


def composer_inputs(attributes: Attributes, plan: np.ndarray, tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """History [steps, 12, 13] and context [steps, 27] of every step of a piece."""
    steps = v.STEPS_PER_BEAT * attributes.meter
    bars, count = len(plan), len(tokens)
    bar, step = np.divmod(np.arange(count), steps)
    repeat = np.array(v.REPEATS)[plan[bar, 1]]
    source = np.where((repeat > 0)[:, None], tokens[np.maximum(0, np.arange(count) - repeat * steps)], NO_STEP)
    source[np.arange(count) < repeat * steps] = NO_STEP
    sounding, age = sounding_rows(tokens)
    rows = [source, lagged(tokens, steps), lagged(tokens, 4 * steps), sounding, age, lagged(tokens, 2 * steps)]
    rows += [lagged(tokens, lag) for lag in STEP_LAGS]
    late = step >= 8
    following = np.concatenate([plan[1:], np.full((1, plan.shape[1]), NO_CHORD)])
    preceding = np.concatenate([np.full((1, plan.shape[1]), NO_CHORD), plan[:-1]])
    first, second = v.PLAN_FIELDS.index("first chord"), v.PLAN_FIELDS.index("second chord")
    columns = [
        np.where(late, plan[bar, second], plan[bar, first]), np.where(late, following[bar, first], plan[bar, second]),
        following[bar, first], preceding[bar, second], plan[bar, 0], plan[bar, 1], step, bar % 8,
        np.minimum(bars - 1 - bar, 7), np.minimum(section_ages(plan)[bar], 15), plan[bar, -1],
    ]  # fmt: skip
    columns += [np.full(count, value) for value in (*nature(attributes), *player_numbers(attributes))]
    columns += [plan[bar, v.PLAN_FIELDS.index(track)] for track in v.TRACKS]
    return np.stack(rows, 1), np.stack(columns, 1)


def lagged(tokens: np.ndarray, lag: int) -> np.ndarray:
    """Tokens so many steps ago."""
    return np.concatenate([np.full((lag, tokens.shape[1]), NO_STEP), tokens])[: len(tokens)]


def sounding_rows(tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The last token other than `held` before each step, and how many steps ago it was (at most 31)."""
    sounding, age = np.full_like(tokens, v.STOP), np.full_like(tokens, OLDEST)
    for step in range(1, len(tokens)):
        began = tokens[step - 1] != v.HELD
        sounding[step] = np.where(began, tokens[step - 1], sounding[step - 1])
        age[step] = np.where(began, 1, np.minimum(age[step - 1] + 1, OLDEST))
    return sounding, age
