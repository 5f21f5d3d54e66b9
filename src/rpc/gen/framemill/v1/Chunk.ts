// Original file: proto/framemill/v1/worker.proto

import type { Usage as _framemill_v1_Usage, Usage__Output as _framemill_v1_Usage__Output } from '../../framemill/v1/Usage.js';

export interface Chunk {
  'json'?: (string);
  'bytes'?: (Buffer | Uint8Array | string);
  'units'?: (_framemill_v1_Usage | null);
  'piece'?: "json"|"bytes";
}

export interface Chunk__Output {
  'json'?: (string);
  'bytes'?: (Buffer);
  'units': (_framemill_v1_Usage__Output | null);
}
