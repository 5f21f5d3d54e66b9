// Original file: proto/framemill/v1/worker.proto

import type { LeaseRef as _framemill_v1_LeaseRef, LeaseRef__Output as _framemill_v1_LeaseRef__Output } from '../../framemill/v1/LeaseRef.js';
import type { Usage as _framemill_v1_Usage, Usage__Output as _framemill_v1_Usage__Output } from '../../framemill/v1/Usage.js';
import type { Cost as _framemill_v1_Cost, Cost__Output as _framemill_v1_Cost__Output } from '../../framemill/v1/Cost.js';
import type { Artifact as _framemill_v1_Artifact, Artifact__Output as _framemill_v1_Artifact__Output } from '../../framemill/v1/Artifact.js';

export interface CompleteRequest {
  'lease'?: (_framemill_v1_LeaseRef | null);
  'usage'?: (_framemill_v1_Usage | null);
  'cost'?: (_framemill_v1_Cost | null);
  'artifacts'?: (_framemill_v1_Artifact)[];
  'outputJson'?: (string);
}

export interface CompleteRequest__Output {
  'lease': (_framemill_v1_LeaseRef__Output | null);
  'usage': (_framemill_v1_Usage__Output | null);
  'cost': (_framemill_v1_Cost__Output | null);
  'artifacts': (_framemill_v1_Artifact__Output)[];
  'outputJson': (string);
}
