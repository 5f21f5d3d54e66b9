// Original file: proto/framemill/v1/worker.proto

import type { Prices as _framemill_v1_Prices, Prices__Output as _framemill_v1_Prices__Output } from '../../framemill/v1/Prices.js';
import type { Long } from '@grpc/proto-loader';

export interface Cost {
  'amountMicroUsd'?: (number | string | Long);
  'prices'?: (_framemill_v1_Prices | null);
}

export interface Cost__Output {
  'amountMicroUsd': (string);
  'prices': (_framemill_v1_Prices__Output | null);
}
