// Original file: proto/framemill/v1/worker.proto

import type { Long } from '@grpc/proto-loader';

export interface LeaseRef {
  'jobId'?: (string);
  'token'?: (number | string | Long);
}

export interface LeaseRef__Output {
  'jobId': (string);
  'token': (string);
}
