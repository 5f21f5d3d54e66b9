// Original file: proto/framemill/v1/worker.proto

import type { FailOutcome as _framemill_v1_FailOutcome, FailOutcome__Output as _framemill_v1_FailOutcome__Output } from '../../framemill/v1/FailOutcome.js';

export interface FailResponse {
  'outcome'?: (_framemill_v1_FailOutcome);
  'retryAfterMs'?: (number);
}

export interface FailResponse__Output {
  'outcome': (_framemill_v1_FailOutcome__Output);
  'retryAfterMs': (number);
}
