"""The recipe of service-image-1: a small text-to-image model made from nothing.

Its world, painter and text encoder are those of service-motion-1, whose recipe is imported under the
name `motion`; the environment variable MOTION_RECIPE names another folder with that recipe.
"""

import importlib.util
import os
import pathlib
import sys

MOTION_RECIPE = pathlib.Path(
    os.environ.get(
        "MOTION_RECIPE", pathlib.Path(__file__).resolve().parents[2] / "service-motion-1" / "train"
    )
)


def name_motion_recipe() -> None:
    """Makes the sister recipe importable: both packages are called `train` in their own folders."""
    if "motion" in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(
        "motion", MOTION_RECIPE / "__init__.py", submodule_search_locations=[str(MOTION_RECIPE)]
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules["motion"] = module
    spec.loader.exec_module(module)


name_motion_recipe()
