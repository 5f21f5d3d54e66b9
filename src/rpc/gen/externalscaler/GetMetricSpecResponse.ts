// Original file: proto/keda/externalscaler.proto

import type { MetricSpec as _externalscaler_MetricSpec, MetricSpec__Output as _externalscaler_MetricSpec__Output } from '../externalscaler/MetricSpec.js';

export interface GetMetricSpecResponse {
  'metricSpecs'?: (_externalscaler_MetricSpec)[];
}

export interface GetMetricSpecResponse__Output {
  'metricSpecs': (_externalscaler_MetricSpec__Output)[];
}
