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
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    this.#address = koffi.alloc("uint8_t", Math.max(1, byteLength)) as Pointer;
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
    koffi.free(this.#address);
  }

  #throwIfFreed(): void {
    if (this.#isFreed) throw new Error("the memory is freed");
  }
}

const LIBRARIES: Partial<Record<NodeJS.Platform, string>> = {
  darwin: "libSystem.dylib",
  win32: "msvcrt.dll",
};

let memcpy: ((to: Pointer, from: Pointer, byteLength: number) => unknown) | undefined;

/** Copies between memories that do not overlap. */
export function copyBytes(to: Pointer, from: Pointer, byteLength: number): void {
  memcpy ??= koffi
    .load(LIBRARIES[process.platform] ?? "libc.so.6")
    .func("void* memcpy(void*, void*, size_t)");
  memcpy(to, from, byteLength);
}
