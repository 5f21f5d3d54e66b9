// Original file: proto/framemill/v1/worker.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { AnnounceRequest as _framemill_v1_AnnounceRequest, AnnounceRequest__Output as _framemill_v1_AnnounceRequest__Output } from '../../framemill/v1/AnnounceRequest.js';
import type { AnnounceResponse as _framemill_v1_AnnounceResponse, AnnounceResponse__Output as _framemill_v1_AnnounceResponse__Output } from '../../framemill/v1/AnnounceResponse.js';
import type { ClaimRequest as _framemill_v1_ClaimRequest, ClaimRequest__Output as _framemill_v1_ClaimRequest__Output } from '../../framemill/v1/ClaimRequest.js';
import type { ClaimResponse as _framemill_v1_ClaimResponse, ClaimResponse__Output as _framemill_v1_ClaimResponse__Output } from '../../framemill/v1/ClaimResponse.js';
import type { CompleteRequest as _framemill_v1_CompleteRequest, CompleteRequest__Output as _framemill_v1_CompleteRequest__Output } from '../../framemill/v1/CompleteRequest.js';
import type { CompleteResponse as _framemill_v1_CompleteResponse, CompleteResponse__Output as _framemill_v1_CompleteResponse__Output } from '../../framemill/v1/CompleteResponse.js';
import type { FailRequest as _framemill_v1_FailRequest, FailRequest__Output as _framemill_v1_FailRequest__Output } from '../../framemill/v1/FailRequest.js';
import type { FailResponse as _framemill_v1_FailResponse, FailResponse__Output as _framemill_v1_FailResponse__Output } from '../../framemill/v1/FailResponse.js';
import type { HeartbeatRequest as _framemill_v1_HeartbeatRequest, HeartbeatRequest__Output as _framemill_v1_HeartbeatRequest__Output } from '../../framemill/v1/HeartbeatRequest.js';
import type { HeartbeatResponse as _framemill_v1_HeartbeatResponse, HeartbeatResponse__Output as _framemill_v1_HeartbeatResponse__Output } from '../../framemill/v1/HeartbeatResponse.js';
import type { ReleaseRequest as _framemill_v1_ReleaseRequest, ReleaseRequest__Output as _framemill_v1_ReleaseRequest__Output } from '../../framemill/v1/ReleaseRequest.js';
import type { ReleaseResponse as _framemill_v1_ReleaseResponse, ReleaseResponse__Output as _framemill_v1_ReleaseResponse__Output } from '../../framemill/v1/ReleaseResponse.js';
import type { ReportRequest as _framemill_v1_ReportRequest, ReportRequest__Output as _framemill_v1_ReportRequest__Output } from '../../framemill/v1/ReportRequest.js';
import type { ReportResponse as _framemill_v1_ReportResponse, ReportResponse__Output as _framemill_v1_ReportResponse__Output } from '../../framemill/v1/ReportResponse.js';

export interface WorkerServiceClient extends grpc.Client {
  Announce(argument: _framemill_v1_AnnounceRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_framemill_v1_AnnounceResponse__Output>): grpc.ClientUnaryCall;
  Announce(argument: _framemill_v1_AnnounceRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_framemill_v1_AnnounceResponse__Output>): grpc.ClientUnaryCall;
  Announce(argument: _framemill_v1_AnnounceRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_framemill_v1_AnnounceResponse__Output>): grpc.ClientUnaryCall;
  Announce(argument: _framemill_v1_AnnounceRequest, callback: grpc.requestCallback<_framemill_v1_AnnounceResponse__Output>): grpc.ClientUnaryCall;
  announce(argument: _framemill_v1_AnnounceRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_framemill_v1_AnnounceResponse__Output>): grpc.ClientUnaryCall;
  announce(argument: _framemill_v1_AnnounceRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_framemill_v1_AnnounceResponse__Output>): grpc.ClientUnaryCall;
  announce(argument: _framemill_v1_AnnounceRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_framemill_v1_AnnounceResponse__Output>): grpc.ClientUnaryCall;
  announce(argument: _framemill_v1_AnnounceRequest, callback: grpc.requestCallback<_framemill_v1_AnnounceResponse__Output>): grpc.ClientUnaryCall;
  
  Claim(argument: _framemill_v1_ClaimRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_framemill_v1_ClaimResponse__Output>): grpc.ClientUnaryCall;
  Claim(argument: _framemill_v1_ClaimRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_framemill_v1_ClaimResponse__Output>): grpc.ClientUnaryCall;
  Claim(argument: _framemill_v1_ClaimRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_framemill_v1_ClaimResponse__Output>): grpc.ClientUnaryCall;
  Claim(argument: _framemill_v1_ClaimRequest, callback: grpc.requestCallback<_framemill_v1_ClaimResponse__Output>): grpc.ClientUnaryCall;
  claim(argument: _framemill_v1_ClaimRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_framemill_v1_ClaimResponse__Output>): grpc.ClientUnaryCall;
  claim(argument: _framemill_v1_ClaimRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_framemill_v1_ClaimResponse__Output>): grpc.ClientUnaryCall;
  claim(argument: _framemill_v1_ClaimRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_framemill_v1_ClaimResponse__Output>): grpc.ClientUnaryCall;
  claim(argument: _framemill_v1_ClaimRequest, callback: grpc.requestCallback<_framemill_v1_ClaimResponse__Output>): grpc.ClientUnaryCall;
  
  Complete(argument: _framemill_v1_CompleteRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_framemill_v1_CompleteResponse__Output>): grpc.ClientUnaryCall;
  Complete(argument: _framemill_v1_CompleteRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_framemill_v1_CompleteResponse__Output>): grpc.ClientUnaryCall;
  Complete(argument: _framemill_v1_CompleteRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_framemill_v1_CompleteResponse__Output>): grpc.ClientUnaryCall;
  Complete(argument: _framemill_v1_CompleteRequest, callback: grpc.requestCallback<_framemill_v1_CompleteResponse__Output>): grpc.ClientUnaryCall;
  complete(argument: _framemill_v1_CompleteRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_framemill_v1_CompleteResponse__Output>): grpc.ClientUnaryCall;
  complete(argument: _framemill_v1_CompleteRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_framemill_v1_CompleteResponse__Output>): grpc.ClientUnaryCall;
  complete(argument: _framemill_v1_CompleteRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_framemill_v1_CompleteResponse__Output>): grpc.ClientUnaryCall;
  complete(argument: _framemill_v1_CompleteRequest, callback: grpc.requestCallback<_framemill_v1_CompleteResponse__Output>): grpc.ClientUnaryCall;
  
  Fail(argument: _framemill_v1_FailRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_framemill_v1_FailResponse__Output>): grpc.ClientUnaryCall;
  Fail(argument: _framemill_v1_FailRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_framemill_v1_FailResponse__Output>): grpc.ClientUnaryCall;
  Fail(argument: _framemill_v1_FailRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_framemill_v1_FailResponse__Output>): grpc.ClientUnaryCall;
  Fail(argument: _framemill_v1_FailRequest, callback: grpc.requestCallback<_framemill_v1_FailResponse__Output>): grpc.ClientUnaryCall;
  fail(argument: _framemill_v1_FailRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_framemill_v1_FailResponse__Output>): grpc.ClientUnaryCall;
  fail(argument: _framemill_v1_FailRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_framemill_v1_FailResponse__Output>): grpc.ClientUnaryCall;
  fail(argument: _framemill_v1_FailRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_framemill_v1_FailResponse__Output>): grpc.ClientUnaryCall;
  fail(argument: _framemill_v1_FailRequest, callback: grpc.requestCallback<_framemill_v1_FailResponse__Output>): grpc.ClientUnaryCall;
  
  Heartbeat(argument: _framemill_v1_HeartbeatRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_framemill_v1_HeartbeatResponse__Output>): grpc.ClientUnaryCall;
  Heartbeat(argument: _framemill_v1_HeartbeatRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_framemill_v1_HeartbeatResponse__Output>): grpc.ClientUnaryCall;
  Heartbeat(argument: _framemill_v1_HeartbeatRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_framemill_v1_HeartbeatResponse__Output>): grpc.ClientUnaryCall;
  Heartbeat(argument: _framemill_v1_HeartbeatRequest, callback: grpc.requestCallback<_framemill_v1_HeartbeatResponse__Output>): grpc.ClientUnaryCall;
  heartbeat(argument: _framemill_v1_HeartbeatRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_framemill_v1_HeartbeatResponse__Output>): grpc.ClientUnaryCall;
  heartbeat(argument: _framemill_v1_HeartbeatRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_framemill_v1_HeartbeatResponse__Output>): grpc.ClientUnaryCall;
  heartbeat(argument: _framemill_v1_HeartbeatRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_framemill_v1_HeartbeatResponse__Output>): grpc.ClientUnaryCall;
  heartbeat(argument: _framemill_v1_HeartbeatRequest, callback: grpc.requestCallback<_framemill_v1_HeartbeatResponse__Output>): grpc.ClientUnaryCall;
  
  Release(argument: _framemill_v1_ReleaseRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_framemill_v1_ReleaseResponse__Output>): grpc.ClientUnaryCall;
  Release(argument: _framemill_v1_ReleaseRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_framemill_v1_ReleaseResponse__Output>): grpc.ClientUnaryCall;
  Release(argument: _framemill_v1_ReleaseRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_framemill_v1_ReleaseResponse__Output>): grpc.ClientUnaryCall;
  Release(argument: _framemill_v1_ReleaseRequest, callback: grpc.requestCallback<_framemill_v1_ReleaseResponse__Output>): grpc.ClientUnaryCall;
  release(argument: _framemill_v1_ReleaseRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_framemill_v1_ReleaseResponse__Output>): grpc.ClientUnaryCall;
  release(argument: _framemill_v1_ReleaseRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_framemill_v1_ReleaseResponse__Output>): grpc.ClientUnaryCall;
  release(argument: _framemill_v1_ReleaseRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_framemill_v1_ReleaseResponse__Output>): grpc.ClientUnaryCall;
  release(argument: _framemill_v1_ReleaseRequest, callback: grpc.requestCallback<_framemill_v1_ReleaseResponse__Output>): grpc.ClientUnaryCall;
  
  Report(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_framemill_v1_ReportRequest, _framemill_v1_ReportResponse__Output>;
  Report(options?: grpc.CallOptions): grpc.ClientDuplexStream<_framemill_v1_ReportRequest, _framemill_v1_ReportResponse__Output>;
  report(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_framemill_v1_ReportRequest, _framemill_v1_ReportResponse__Output>;
  report(options?: grpc.CallOptions): grpc.ClientDuplexStream<_framemill_v1_ReportRequest, _framemill_v1_ReportResponse__Output>;
  
}

export interface WorkerServiceHandlers extends grpc.UntypedServiceImplementation {
  Announce: grpc.handleUnaryCall<_framemill_v1_AnnounceRequest__Output, _framemill_v1_AnnounceResponse>;
  
  Claim: grpc.handleUnaryCall<_framemill_v1_ClaimRequest__Output, _framemill_v1_ClaimResponse>;
  
  Complete: grpc.handleUnaryCall<_framemill_v1_CompleteRequest__Output, _framemill_v1_CompleteResponse>;
  
  Fail: grpc.handleUnaryCall<_framemill_v1_FailRequest__Output, _framemill_v1_FailResponse>;
  
  Heartbeat: grpc.handleUnaryCall<_framemill_v1_HeartbeatRequest__Output, _framemill_v1_HeartbeatResponse>;
  
  Release: grpc.handleUnaryCall<_framemill_v1_ReleaseRequest__Output, _framemill_v1_ReleaseResponse>;
  
  Report: grpc.handleBidiStreamingCall<_framemill_v1_ReportRequest__Output, _framemill_v1_ReportResponse>;
  
}

export interface WorkerServiceDefinition extends grpc.ServiceDefinition {
  Announce: MethodDefinition<_framemill_v1_AnnounceRequest, _framemill_v1_AnnounceResponse, _framemill_v1_AnnounceRequest__Output, _framemill_v1_AnnounceResponse__Output>
  Claim: MethodDefinition<_framemill_v1_ClaimRequest, _framemill_v1_ClaimResponse, _framemill_v1_ClaimRequest__Output, _framemill_v1_ClaimResponse__Output>
  Complete: MethodDefinition<_framemill_v1_CompleteRequest, _framemill_v1_CompleteResponse, _framemill_v1_CompleteRequest__Output, _framemill_v1_CompleteResponse__Output>
  Fail: MethodDefinition<_framemill_v1_FailRequest, _framemill_v1_FailResponse, _framemill_v1_FailRequest__Output, _framemill_v1_FailResponse__Output>
  Heartbeat: MethodDefinition<_framemill_v1_HeartbeatRequest, _framemill_v1_HeartbeatResponse, _framemill_v1_HeartbeatRequest__Output, _framemill_v1_HeartbeatResponse__Output>
  Release: MethodDefinition<_framemill_v1_ReleaseRequest, _framemill_v1_ReleaseResponse, _framemill_v1_ReleaseRequest__Output, _framemill_v1_ReleaseResponse__Output>
  Report: MethodDefinition<_framemill_v1_ReportRequest, _framemill_v1_ReportResponse, _framemill_v1_ReportRequest__Output, _framemill_v1_ReportResponse__Output>
}
