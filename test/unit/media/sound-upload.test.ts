import { array, assert, nat, property, tuple } from "fast-check";
import { describe, expect, test } from "vitest";
import { withIndexFirst } from "#framemill/media/mp4.js";
import { detectSoundFormat } from "#framemill/media/decode-audio.js";

function box(type: string, ...content: readonly Uint8Array[]): Buffer {
  const head = Buffer.alloc(8);
  head.write(type, 4, "latin1");
  const whole = Buffer.concat([head, ...content]);
  whole.writeUInt32BE(whole.byteLength, 0);
  return whole;
}

/** An index whose only table has these chunk offsets. */
function indexOf(type: "stco" | "co64", ...offsets: readonly number[]): Buffer {
  const width = type === "stco" ? 4 : 8;
  const table = Buffer.alloc(8 + offsets.length * width);
  table.writeUInt32BE(offsets.length, 4);
  for (const [entry, offset] of offsets.entries())
    table.writeUIntBE(offset, 8 + entry * width + width - 4, 4);
  return box("moov", box("trak", box("mdia", box("minf", box("stbl", box(type, table))))));
}

describe("an MP4 whose index stands last", () => {
  const start = box("ftyp", Buffer.from("M4A "));
  const data = box("mdat", Buffer.from("sound"));
  const sample = start.byteLength + 8;

  test.each(["stco", "co64"] as const)("gets it first, and its %s points at the data", (type) => {
    const index = indexOf(type, sample, sample + 3);
    const moved = Buffer.from(withIndexFirst(Buffer.concat([start, data, index])));
    const expected = indexOf(type, sample + index.byteLength, sample + 3 + index.byteLength);
    expect(moved).toEqual(Buffer.concat([start, expected, data]));
    expect(moved.toString("latin1", sample + index.byteLength).startsWith("sound")).toBe(true);
  });

  test("stays as it is where the index is first already", () => {
    const file = Buffer.concat([start, indexOf("stco", 99), data]);
    expect(withIndexFirst(file)).toBe(file);
  });

  test("never breaks on broken files, nor grows", () => {
    const whole = Buffer.concat([start, data, indexOf("stco", sample)]);
    const places = array(tuple(nat(whole.byteLength - 1), nat(255)), { maxLength: 6 });
    assert(
      property(places, nat(whole.byteLength), (changes, length) => {
        const broken = Buffer.from(whole);
        for (const [at, value] of changes) broken[at] = value;
        expect(withIndexFirst(broken.subarray(0, length)).byteLength).toBe(length);
      }),
    );
  });
});

describe("the format of an upload", () => {
  const id3 = Buffer.from("ID3\x04\0\0\0\0\0\x02xx", "latin1");
  test.each([
    ["RIFF\0\0\0\0WAVEfmt ", "wav"],
    ["fLaC\0\0", "flac"],
    ["OggS\0\x02", "ogg"],
    ["\x1aE\xdf\xa3\x01", "matroska"],
    ["\0\0\0\x18ftypM4A ", "mov"],
    ["\0\0\x01\xba", "mpeg"],
    ["\xff\xfb\x90\x64", "mp3"],
    ["\xff\xfd\x84\x04", "mp3"],
    ["\xff\xf1\x50\x80", "aac"],
    ["#!AMR\n", "amr"],
  ])("of %j is settled by its first bytes, behind a tag too", (start, demuxer) => {
    const bytes = Buffer.from(start, "latin1");
    expect(detectSoundFormat(bytes, "file").demuxer).toBe(demuxer);
    expect(detectSoundFormat(Buffer.concat([id3, bytes]), "file").demuxer).toBe(demuxer);
  });

  test.each([
    ["nothing", ""],
    ["a list", "#EXTM3U\n"],
    ["a script", "ffconcat version 1.0"],
    ["a picture", "\x89PNG\r\n"],
    ["an AVI film", "RIFF\0\0\0\0AVI LIST"],
    ["a wave of nothing", "JUNK\0\0\0\0WAVE"],
    ["a frame of no rate", "\xff\xfb\xf0\0"],
  ])("refuses %s", (_what, start) => {
    const detect = () => detectSoundFormat(Buffer.from(start, "latin1"), "file");
    expect(detect).toThrow(expect.objectContaining({ code: "invalid_value", param: "file" }));
  });
});
