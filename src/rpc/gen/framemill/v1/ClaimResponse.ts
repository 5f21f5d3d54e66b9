// Original file: proto/framemill/v1/worker.proto

import type { ClaimOutcome as _framemill_v1_ClaimOutcome, ClaimOutcome__Output as _framemill_v1_ClaimOutcome__Output } from '../../framemill/v1/ClaimOutcome.js';
import type { Lease as _framemill_v1_Lease, Lease__Output as _framemill_v1_Lease__Output } from '../../framemill/v1/Lease.js';
import type { Artifact as _framemill_v1_Artifact, Artifact__Output as _framemill_v1_Artifact__Output } from '../../framemill/v1/Artifact.js';

export interface ClaimResponse {
  'outcome'?: (_framemill_v1_ClaimOutcome);
  'lease'?: (_framemill_v1_Lease | null);
  'checkpoint'?: (_framemill_v1_Artifact | null);
  'retryAfterMs'?: (number);
  'reportTo'?: (string);
}

export interface ClaimResponse__Output {
  'outcome': (_framemill_v1_ClaimOutcome__Output);
  'lease': (_framemill_v1_Lease__Output | null);
  'checkpoint': (_framemill_v1_Artifact__Output | null);
  'retryAfterMs': (number);
  'reportTo': (string);
}
