#!/bin/sh
# ONNX Runtime's CUDA and TensorRT providers out of PyPI's wheel, which is made for CUDA 13, into a folder beside
# the library of the same version: fetch-providers.sh VERSION FOLDER. As root on Debian, where there is no pip.
set -eu
version=${1:?the version of onnxruntime-node} folder=${2:?the folder of libonnxruntime.so.1}
if ! python3 -m pip --version > /dev/null 2>&1; then
  apt-get update --quiet
  apt-get install --yes --quiet --no-install-recommends python3-pip
fi
wheels=$(mktemp -d)
python3 -m pip download "onnxruntime-gpu==$version" --no-deps --quiet --only-binary=:all: --dest "$wheels" \
  --implementation cp --python-version 3.12 --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64
python3 - "$folder" "$wheels"/*.whl <<'PYTHON'
import pathlib, sys, zipfile
folder, wheel = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    for name in ("shared", "cuda", "tensorrt"):
        file = f"libonnxruntime_providers_{name}.so"
        pathlib.Path(folder, file).write_bytes(archive.read(f"onnxruntime/capi/{file}"))
PYTHON
rm -r "$wheels"
