// Original file: proto/framemill/v1/worker.proto

import type { Long } from '@grpc/proto-loader';

export interface Cost {
  'microUsdPerUnit'?: (number | string | Long);
  'billedUnits'?: (number | string);
  'amountMicroUsd'?: (number | string | Long);
  'gpuMilliseconds'?: (number | string | Long);
}

export interface Cost__Output {
  'microUsdPerUnit': (string);
  'billedUnits': (number);
  'amountMicroUsd': (string);
  'gpuMilliseconds': (string);
}
