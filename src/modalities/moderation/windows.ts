/** Characters that are tokenised in one go. */
const PIECE_CHARACTERS = 16_384;
const PIECE_OVERLAP = 256;
/** Tokens that a window has in common with the one before. */
const WINDOW_OVERLAP = 64;

/** A text in pieces that overlap a little, cut at white space where there is some near the end. */
export function cutPieces(text: string, most = PIECE_CHARACTERS): string[] {
  const pieces: string[] = [];
  let from = 0;
  while (text.length - from > most) {
    const space = text.lastIndexOf(" ", from + most);
    const to = space > from + most / 2 ? space : from + most;
    pieces.push(text.slice(from, to));
    from = Math.max(from + 1, to - Math.min(PIECE_OVERLAP, most / 4));
  }
  return [...pieces, text.slice(from)];
}

/** Tokens in windows of at most `room`; the last one ends with the text. */
export function cutWindows(content: Int32Array, room: number): Int32Array[] {
  if (content.length <= room) return [content];
  const stride = room - Math.min(WINDOW_OVERLAP, Math.floor(room / 4));
  const windows: Int32Array[] = [];
  for (let from = 0; from + room < content.length; from += stride)
    windows.push(content.subarray(from, from + room));
  windows.push(content.subarray(content.length - room));
  return windows;
}
