import type * as grpc from '@grpc/grpc-js';
import type { MessageTypeDefinition } from '@grpc/proto-loader';

import type { ExternalScalerClient as _externalscaler_ExternalScalerClient, ExternalScalerDefinition as _externalscaler_ExternalScalerDefinition } from './externalscaler/ExternalScaler.js';
import type { GetMetricSpecResponse as _externalscaler_GetMetricSpecResponse, GetMetricSpecResponse__Output as _externalscaler_GetMetricSpecResponse__Output } from './externalscaler/GetMetricSpecResponse.js';
import type { GetMetricsRequest as _externalscaler_GetMetricsRequest, GetMetricsRequest__Output as _externalscaler_GetMetricsRequest__Output } from './externalscaler/GetMetricsRequest.js';
import type { GetMetricsResponse as _externalscaler_GetMetricsResponse, GetMetricsResponse__Output as _externalscaler_GetMetricsResponse__Output } from './externalscaler/GetMetricsResponse.js';
import type { IsActiveResponse as _externalscaler_IsActiveResponse, IsActiveResponse__Output as _externalscaler_IsActiveResponse__Output } from './externalscaler/IsActiveResponse.js';
import type { MetricSpec as _externalscaler_MetricSpec, MetricSpec__Output as _externalscaler_MetricSpec__Output } from './externalscaler/MetricSpec.js';
import type { MetricValue as _externalscaler_MetricValue, MetricValue__Output as _externalscaler_MetricValue__Output } from './externalscaler/MetricValue.js';
import type { ScaledObjectRef as _externalscaler_ScaledObjectRef, ScaledObjectRef__Output as _externalscaler_ScaledObjectRef__Output } from './externalscaler/ScaledObjectRef.js';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  externalscaler: {
    ExternalScaler: SubtypeConstructor<typeof grpc.Client, _externalscaler_ExternalScalerClient> & { service: _externalscaler_ExternalScalerDefinition }
    GetMetricSpecResponse: MessageTypeDefinition<_externalscaler_GetMetricSpecResponse, _externalscaler_GetMetricSpecResponse__Output>
    GetMetricsRequest: MessageTypeDefinition<_externalscaler_GetMetricsRequest, _externalscaler_GetMetricsRequest__Output>
    GetMetricsResponse: MessageTypeDefinition<_externalscaler_GetMetricsResponse, _externalscaler_GetMetricsResponse__Output>
    IsActiveResponse: MessageTypeDefinition<_externalscaler_IsActiveResponse, _externalscaler_IsActiveResponse__Output>
    MetricSpec: MessageTypeDefinition<_externalscaler_MetricSpec, _externalscaler_MetricSpec__Output>
    MetricValue: MessageTypeDefinition<_externalscaler_MetricValue, _externalscaler_MetricValue__Output>
    ScaledObjectRef: MessageTypeDefinition<_externalscaler_ScaledObjectRef, _externalscaler_ScaledObjectRef__Output>
  }
}

