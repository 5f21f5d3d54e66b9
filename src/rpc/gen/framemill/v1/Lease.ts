// Original file: proto/framemill/v1/worker.proto

import type { Long } from '@grpc/proto-loader';

export interface Lease {
  'token'?: (number | string | Long);
  'attempt'?: (number);
  'leaseMs'?: (number);
  'microUsdPerUnit'?: (number | string | Long);
}

export interface Lease__Output {
  'token': (string);
  'attempt': (number);
  'leaseMs': (number);
  'microUsdPerUnit': (string);
}
