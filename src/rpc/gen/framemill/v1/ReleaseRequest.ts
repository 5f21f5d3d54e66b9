// Original file: proto/framemill/v1/worker.proto

import type { LeaseRef as _framemill_v1_LeaseRef, LeaseRef__Output as _framemill_v1_LeaseRef__Output } from '../../framemill/v1/LeaseRef.js';
import type { Artifact as _framemill_v1_Artifact, Artifact__Output as _framemill_v1_Artifact__Output } from '../../framemill/v1/Artifact.js';
import type { Long } from '@grpc/proto-loader';

export interface ReleaseRequest {
  'lease'?: (_framemill_v1_LeaseRef | null);
  'checkpoint'?: (_framemill_v1_Artifact | null);
  'gpuMilliseconds'?: (number | string | Long);
}

export interface ReleaseRequest__Output {
  'lease': (_framemill_v1_LeaseRef__Output | null);
  'checkpoint': (_framemill_v1_Artifact__Output | null);
  'gpuMilliseconds': (string);
}
