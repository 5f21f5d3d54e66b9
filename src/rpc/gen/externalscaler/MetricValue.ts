// Original file: proto/keda/externalscaler.proto

import type { Long } from '@grpc/proto-loader';

export interface MetricValue {
  'metricName'?: (string);
  'metricValue'?: (number | string | Long);
  'metricValueFloat'?: (number | string);
}

export interface MetricValue__Output {
  'metricName': (string);
  'metricValue': (string);
  'metricValueFloat': (number);
}
