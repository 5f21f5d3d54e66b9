// Original file: proto/framemill/v1/worker.proto

import type { LeaseOutcome as _framemill_v1_LeaseOutcome, LeaseOutcome__Output as _framemill_v1_LeaseOutcome__Output } from '../../framemill/v1/LeaseOutcome.js';

export interface HeartbeatResponse {
  'outcome'?: (_framemill_v1_LeaseOutcome);
  'leaseMs'?: (number);
  'cancel'?: (boolean);
  'drain'?: (boolean);
}

export interface HeartbeatResponse__Output {
  'outcome': (_framemill_v1_LeaseOutcome__Output);
  'leaseMs': (number);
  'cancel': (boolean);
  'drain': (boolean);
}
