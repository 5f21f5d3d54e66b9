// Original file: proto/framemill/v1/worker.proto

import type { Prices as _framemill_v1_Prices, Prices__Output as _framemill_v1_Prices__Output } from '../../framemill/v1/Prices.js';
import type { Long } from '@grpc/proto-loader';

export interface Lease {
  'token'?: (number | string | Long);
  'attempt'?: (number);
  'leaseMs'?: (number);
  'prices'?: (_framemill_v1_Prices | null);
}

export interface Lease__Output {
  'token': (string);
  'attempt': (number);
  'leaseMs': (number);
  'prices': (_framemill_v1_Prices__Output | null);
}
