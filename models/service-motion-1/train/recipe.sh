#!/bin/sh
# Everything from nothing, then memory. Usage: sh train/recipe.sh [cpu|gpu] [folder]
set -eu
cd "$(dirname "$0")/.."
size=${1:-cpu}
folder=${2:-build}
python=${PYTHON:-python}
"$python" -m train.run --size "$size" --folder "$folder"
"$python" -m train.measure --folder "$folder"
"$python" -m train.export --folder "$folder"
