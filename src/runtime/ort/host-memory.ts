import koffi from "koffi";
import type { Pointer } from "./api.js";

/**
 * Memory outside of JavaScript's heap, all zero at first, that is freed once nobody holds it: what is large
 * is given back at once and not when the garbage collector comes by, which it would be made to do.
 */
export class HostMemory {
  readonly byteLength: number;
  readonly #address: Pointer;
  #holders = 0;
  #isFreed = false;

  constructor(byteLength: number) {
    this.byteLength = byteLength;
    this.#address = allocate(byteLength);
  }

  get address(): Pointer {
    this.#throwIfFreed();
    return this.#address;
  }

  hold(): void {
    this.#throwIfFreed();
    this.#holders += 1;
  }

  release(): void {
    this.#throwIfFreed();
    this.#holders -= 1;
    if (this.#holders > 0) return;
    this.#isFreed = true;
    free(this.#address, this.byteLength);
  }

  #throwIfFreed(): void {
    if (this.#isFreed) throw new Error("the memory is freed");
  }
}

/** Copies between memories that do not overlap. */
export function copyBytes(to: Pointer, from: Pointer, byteLength: number): void {
  libc().memcpy(to, from, byteLength);
}

/** Blocks from here on are asked of the kernel: malloc keeps what it has seen larger ones of. */
const MAPPED_BYTES = 256 * 1024;
/** MAP_PRIVATE | MAP_ANONYMOUS; the entry is absent where there is no mmap. */
const MAP_FLAGS: Partial<Record<NodeJS.Platform, number>> = { linux: 0x22, darwin: 0x1002 };
const PROT_READ_WRITE = 3;
const MAP_FAILED = 2n ** 64n - 1n;

const flags = MAP_FLAGS[process.platform];

function allocate(byteLength: number): Pointer {
  if (flags === undefined || byteLength < MAPPED_BYTES)
    return BigInt(koffi.alloc("uint8_t", Math.max(1, byteLength)));
  // A number below 2^53, else a bigint.
  const address = BigInt(libc().mmap?.(null, byteLength, PROT_READ_WRITE, flags, -1, 0));
  if (address === MAP_FAILED) throw new Error(`there is no memory for ${byteLength} bytes`);
  return address;
}

function free(address: Pointer, byteLength: number): void {
  if (flags === undefined || byteLength < MAPPED_BYTES) koffi.free(address);
  else libc().munmap?.(address, byteLength);
}

const LIBRARIES: Partial<Record<NodeJS.Platform, string>> = {
  darwin: "libSystem.dylib",
  win32: "msvcrt.dll",
};

function load() {
  const library = koffi.load(LIBRARIES[process.platform] ?? "libc.so.6");
  const memcpy = library.func("void* memcpy(void*, void*, size_t)");
  if (flags === undefined) return { memcpy };
  const mmap = library.func("uint64_t mmap(void*, size_t, int, int, int, int64_t)");
  return { memcpy, mmap, munmap: library.func("int munmap(void*, size_t)") };
}

let loaded: ReturnType<typeof load> | undefined;

function libc() {
  loaded ??= load();
  return loaded;
}
