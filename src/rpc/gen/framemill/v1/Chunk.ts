// Original file: proto/framemill/v1/worker.proto


export interface Chunk {
  'json'?: (string);
  'bytes'?: (Buffer | Uint8Array | string);
  'piece'?: "json"|"bytes";
}

export interface Chunk__Output {
  'json'?: (string);
  'bytes'?: (Buffer);
}
