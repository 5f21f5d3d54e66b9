"""BT.709 limited-range YUV of RGB, as linear maps."""

import numpy as np

LUMA = np.array([0.2126, 0.7152, 0.0722])


def yuv_matrix() -> np.ndarray:
    """[3, 4]: (R, G, B in 0..1, 1) -> (Y, U, V) in 8-bit codes; Y 16..235, U and V 16..240."""
    blue = (np.array([0, 0, 1]) - LUMA) / (2 * (1 - LUMA[2]))
    red = (np.array([1, 0, 0]) - LUMA) / (2 * (1 - LUMA[0]))
    rows = np.stack([219 * LUMA, 224 * blue, 224 * red])
    return np.concatenate([rows, np.array([[16.0], [128.0], [128.0]])], 1)


def yuv_matrix_of_signed_rgb() -> np.ndarray:
    """The same for R, G, B in -1..1."""
    matrix = yuv_matrix()
    constant = matrix[:, 3:] + 0.5 * matrix[:, :3].sum(1, keepdims=True)
    return np.concatenate([0.5 * matrix[:, :3], constant], 1)
