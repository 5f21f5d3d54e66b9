// Original file: proto/keda/externalscaler.proto

import type { Long } from '@grpc/proto-loader';

export interface MetricSpec {
  'metricName'?: (string);
  'targetSize'?: (number | string | Long);
  'targetSizeFloat'?: (number | string);
}

export interface MetricSpec__Output {
  'metricName': (string);
  'targetSize': (string);
  'targetSizeFloat': (number);
}
