// Original file: proto/framemill/v1/worker.proto

import type { LeaseRef as _framemill_v1_LeaseRef, LeaseRef__Output as _framemill_v1_LeaseRef__Output } from '../../framemill/v1/LeaseRef.js';

export interface HeartbeatRequest {
  'lease'?: (_framemill_v1_LeaseRef | null);
  'workerId'?: (string);
}

export interface HeartbeatRequest__Output {
  'lease': (_framemill_v1_LeaseRef__Output | null);
  'workerId': (string);
}
