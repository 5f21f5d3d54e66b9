#!/bin/sh
# Both images without a daemon and without a registry, then tried: build-with-buildah.sh FOLDER, as root on Debian.
# Bases are made of debootstrap and this machine's Node, in the place of those that the Dockerfiles name. With
# PROVIDERS=cuda the worker's image alone is built, on PyPI's CUDA libraries in the place of NVIDIA's base: its
# build fails where a library but the driver's is missing. Needs buildah, debootstrap, ffmpeg, curl.
set -eu
work=${1:?a folder for bases, images and the clip: 15 GB}
providers=${PROVIDERS:-cpu}
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs
mkdir -p "$work"
work=$(cd "$work" && pwd)
build() { buildah --root "$work/storage" --runroot "$work/run" "$@"; }
say() { printf '== %s\n' "$*"; }

base() {
  rootfs=$work/base
  [ -d "$rootfs/etc" ] || debootstrap --variant=minbase bookworm "$rootfs" > "$work/debootstrap.log"
  cp -L "$(command -v node)" "$rootfs/usr/local/bin/node"
  mkdir -p "$rootfs/usr/local/lib/node_modules" "$rootfs/etc/ssl/certs"
  cp -RL "$(npm root -g)/npm" "$rootfs/usr/local/lib/node_modules/"
  ln -sf ../lib/node_modules/npm/bin/npm-cli.js "$rootfs/usr/local/bin/npm"
  ln -sf ../lib/node_modules/npm/bin/npx-cli.js "$rootfs/usr/local/bin/npx"
  # Twice: Debian's package of certificates makes its file anew.
  cp -L /etc/ssl/certs/ca-certificates.crt "$rootfs/etc/ssl/certs/"
  cp -L /etc/ssl/certs/ca-certificates.crt "$rootfs/usr/local/share/certificates.crt"
  container=$(build from scratch)
  build copy -q "$container" "$rootfs" / > /dev/null
  build config --env NODE_EXTRA_CA_CERTS=/usr/local/share/certificates.crt \
    --env PIP_CERT=/usr/local/share/certificates.crt "$container"
  build commit -q --rm "$container" localhost/framemill-base > /dev/null
}

# NVIDIA's libraries as the base of CUDA 13 has them, where the loader finds them.
cuda_base() {
  [ -d "$work/cuda" ] || python3 -m pip install --quiet --no-deps --only-binary=:all: --target "$work/cuda" \
    "nvidia-cuda-runtime==13.*" "nvidia-cublas==13.*" "nvidia-curand==10.*" "nvidia-cuda-nvrtc==13.*" nvidia-cudnn-cu13
  container=$(build from localhost/framemill-base)
  mkdir -p "$work/cuda-lib"
  find "$work/cuda/nvidia" -name '*.so*' -type f -exec cp -n {} "$work/cuda-lib/" \;
  build copy -q "$container" "$work/cuda-lib" /usr/local/cuda/lib64 > /dev/null
  build run "$container" -- sh -c 'echo /usr/local/cuda/lib64 > /etc/ld.so.conf.d/cuda.conf && ldconfig'
  build commit -q --rm "$container" localhost/framemill-cuda > /dev/null
}

# A container's root as a pod's: read-only, user 10001, /tmp and the data folder in memory.
locked() {
  image=$1
  shift
  container=$(build from "$image")
  rootfs=$(build mount "$container")
  exec unshare --mount sh -euc '
    rootfs=$1; shift
    mount --bind "$rootfs" "$rootfs"
    mount -t proc proc "$rootfs/proc"
    mount --rbind /dev "$rootfs/dev"
    for folder in tmp var/lib/framemill; do mount -t tmpfs -o mode=1777 none "$rootfs/$folder"; done
    mount --bind "$OUT" "$rootfs/mnt"
    mount -o remount,bind,ro "$rootfs"
    exec chroot --userspec=10001:10001 "$rootfs" env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/var/lib/framemill \
      NODE_ENV=production DATA_DIR=/var/lib/framemill SCRATCH_DIR=/tmp/framemill "$@"
  ' locked "$rootfs" "$@"
}

cd "$(dirname "$0")/../.."
say "bases"
base
cuda_image=localhost/framemill-base
[ "$providers" = cpu ] || { cuda_base; cuda_image=localhost/framemill-cuda; }
# npm's settings are a secret of the build: no layer has them.
secret=
[ ! -f "$HOME/.npmrc" ] || secret="--secret id=npmrc,src=$HOME/.npmrc"
kinds="front gpu"
[ "$providers" = cpu ] || kinds=gpu
for kind in $kinds; do
  say "Dockerfile.$kind"
  # $secret is two words or none.
  # shellcheck disable=SC2086
  build bud --pull-never $secret -f "Dockerfile.$kind" -t "localhost/framemill-$kind" \
    --build-arg NODE_IMAGE=localhost/framemill-base --build-arg "CUDA_IMAGE=$cuda_image" \
    --build-arg "PROVIDERS=$providers" .
done
build images
[ "$providers" = cpu ] || exit 0

say "the worker's image, read-only as 10001, makes a clip"
export OUT=$work/out
mkdir -p "$OUT"
chown 10001 "$OUT"
(locked localhost/framemill-gpu sh -c 'id -u; touch /app/x 2>&1 || true; node /app/dist/bin/framemill.js demo --out /mnt/clip.mp4')
ffprobe -v error -show_entries stream=codec_name,width,height:format=duration -of compact "$OUT/clip.mp4"

say "the front's image serves"
locked localhost/framemill-front WORKER_TOKEN=0123456789abcdef PORT=18080 GRPC_PORT=0 LOG_LEVEL=warn \
  node /app/dist/bin/framemill.js front &
front=$!
trap 'kill "$front" 2> /dev/null || true' EXIT
curl --silent --show-error --retry 30 --retry-connrefused --retry-delay 1 --output /dev/null \
  --write-out '/healthz %{http_code}\n' http://127.0.0.1:18080/healthz
curl --silent --output /dev/null --write-out '/playground %{http_code}\n' http://127.0.0.1:18080/playground
