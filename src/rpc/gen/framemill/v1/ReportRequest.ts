// Original file: proto/framemill/v1/worker.proto

import type { LeaseRef as _framemill_v1_LeaseRef, LeaseRef__Output as _framemill_v1_LeaseRef__Output } from '../../framemill/v1/LeaseRef.js';
import type { Chunk as _framemill_v1_Chunk, Chunk__Output as _framemill_v1_Chunk__Output } from '../../framemill/v1/Chunk.js';
import type { Long } from '@grpc/proto-loader';

export interface ReportRequest {
  'lease'?: (_framemill_v1_LeaseRef | null);
  'sequence'?: (number | string | Long);
  'fraction'?: (number | string);
  'stage'?: (string);
  'chunks'?: (_framemill_v1_Chunk)[];
}

export interface ReportRequest__Output {
  'lease': (_framemill_v1_LeaseRef__Output | null);
  'sequence': (string);
  'fraction': (number);
  'stage': (string);
  'chunks': (_framemill_v1_Chunk__Output)[];
}
