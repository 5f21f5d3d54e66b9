// Original file: proto/framemill/v1/worker.proto

import type { LeaseRef as _framemill_v1_LeaseRef, LeaseRef__Output as _framemill_v1_LeaseRef__Output } from '../../framemill/v1/LeaseRef.js';
import type { Long } from '@grpc/proto-loader';

export interface FailRequest {
  'lease'?: (_framemill_v1_LeaseRef | null);
  'code'?: (string);
  'message'?: (string);
  'retryable'?: (boolean);
  'gpuMilliseconds'?: (number | string | Long);
  'param'?: (string);
}

export interface FailRequest__Output {
  'lease': (_framemill_v1_LeaseRef__Output | null);
  'code': (string);
  'message': (string);
  'retryable': (boolean);
  'gpuMilliseconds': (string);
  'param': (string);
}
