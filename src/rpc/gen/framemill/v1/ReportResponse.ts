// Original file: proto/framemill/v1/worker.proto

import type { LeaseRef as _framemill_v1_LeaseRef, LeaseRef__Output as _framemill_v1_LeaseRef__Output } from '../../framemill/v1/LeaseRef.js';
import type { LeaseOutcome as _framemill_v1_LeaseOutcome, LeaseOutcome__Output as _framemill_v1_LeaseOutcome__Output } from '../../framemill/v1/LeaseOutcome.js';
import type { Long } from '@grpc/proto-loader';

export interface ReportResponse {
  'lease'?: (_framemill_v1_LeaseRef | null);
  'sequence'?: (number | string | Long);
  'outcome'?: (_framemill_v1_LeaseOutcome);
  'cancel'?: (boolean);
}

export interface ReportResponse__Output {
  'lease': (_framemill_v1_LeaseRef__Output | null);
  'sequence': (string);
  'outcome': (_framemill_v1_LeaseOutcome__Output);
  'cancel': (boolean);
}
