#!/bin/sh
# Fails an image build whose CUDA provider lacks a library: another CUDA version than the base image's
# shows itself here and not as a worker that "does not run here". check-providers.sh FOLDER
set -eu
folder=${1:?the folder of libonnxruntime_providers_*.so}

# The driver's own library comes with the GPU, when the container starts.
missing_of() {
  ldd "$1" | awk '/not found/ && $1 != "libcuda.so.1" { print $1 }'
}

cuda=$folder/libonnxruntime_providers_cuda.so
for library in "$folder/libonnxruntime_providers_shared.so" "$cuda"; do
  [ -f "$library" ] || { echo "$library is not there: was it installed?" >&2; exit 1; }
done
missing=$(missing_of "$cuda")
if [ -n "$missing" ]; then
  echo "$cuda lacks, in this base image:" >&2
  echo "$missing" >&2
  echo "Its names end in the major version of CUDA it was made for: take a base image of that version (CUDA_IMAGE)." >&2
  exit 1
fi
# Loaded by name when the provider starts: ldd does not know of it.
if ! ldconfig -p | grep -q 'libcudnn\.so\.9 '; then
  echo "libcudnn.so.9 is not in this base image: take one with cuDNN (CUDA_IMAGE)." >&2
  exit 1
fi
echo "$cuda finds every library but the driver's"
tensorrt=$folder/libonnxruntime_providers_tensorrt.so
if [ -f "$tensorrt" ] && [ -n "$(missing_of "$tensorrt")" ]; then
  echo "PROVIDERS=tensorrt will not work in this image; it lacks:" "$(missing_of "$tensorrt")"
fi
