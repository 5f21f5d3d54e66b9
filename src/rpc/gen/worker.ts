import type * as grpc from '@grpc/grpc-js';
import type { EnumTypeDefinition, MessageTypeDefinition } from '@grpc/proto-loader';

import type { AnnounceRequest as _framemill_v1_AnnounceRequest, AnnounceRequest__Output as _framemill_v1_AnnounceRequest__Output } from './framemill/v1/AnnounceRequest.js';
import type { AnnounceResponse as _framemill_v1_AnnounceResponse, AnnounceResponse__Output as _framemill_v1_AnnounceResponse__Output } from './framemill/v1/AnnounceResponse.js';
import type { Artifact as _framemill_v1_Artifact, Artifact__Output as _framemill_v1_Artifact__Output } from './framemill/v1/Artifact.js';
import type { Chunk as _framemill_v1_Chunk, Chunk__Output as _framemill_v1_Chunk__Output } from './framemill/v1/Chunk.js';
import type { ClaimRequest as _framemill_v1_ClaimRequest, ClaimRequest__Output as _framemill_v1_ClaimRequest__Output } from './framemill/v1/ClaimRequest.js';
import type { ClaimResponse as _framemill_v1_ClaimResponse, ClaimResponse__Output as _framemill_v1_ClaimResponse__Output } from './framemill/v1/ClaimResponse.js';
import type { CompleteRequest as _framemill_v1_CompleteRequest, CompleteRequest__Output as _framemill_v1_CompleteRequest__Output } from './framemill/v1/CompleteRequest.js';
import type { CompleteResponse as _framemill_v1_CompleteResponse, CompleteResponse__Output as _framemill_v1_CompleteResponse__Output } from './framemill/v1/CompleteResponse.js';
import type { Cost as _framemill_v1_Cost, Cost__Output as _framemill_v1_Cost__Output } from './framemill/v1/Cost.js';
import type { FailRequest as _framemill_v1_FailRequest, FailRequest__Output as _framemill_v1_FailRequest__Output } from './framemill/v1/FailRequest.js';
import type { FailResponse as _framemill_v1_FailResponse, FailResponse__Output as _framemill_v1_FailResponse__Output } from './framemill/v1/FailResponse.js';
import type { HeartbeatRequest as _framemill_v1_HeartbeatRequest, HeartbeatRequest__Output as _framemill_v1_HeartbeatRequest__Output } from './framemill/v1/HeartbeatRequest.js';
import type { HeartbeatResponse as _framemill_v1_HeartbeatResponse, HeartbeatResponse__Output as _framemill_v1_HeartbeatResponse__Output } from './framemill/v1/HeartbeatResponse.js';
import type { Lease as _framemill_v1_Lease, Lease__Output as _framemill_v1_Lease__Output } from './framemill/v1/Lease.js';
import type { LeaseRef as _framemill_v1_LeaseRef, LeaseRef__Output as _framemill_v1_LeaseRef__Output } from './framemill/v1/LeaseRef.js';
import type { Prices as _framemill_v1_Prices, Prices__Output as _framemill_v1_Prices__Output } from './framemill/v1/Prices.js';
import type { ReleaseRequest as _framemill_v1_ReleaseRequest, ReleaseRequest__Output as _framemill_v1_ReleaseRequest__Output } from './framemill/v1/ReleaseRequest.js';
import type { ReleaseResponse as _framemill_v1_ReleaseResponse, ReleaseResponse__Output as _framemill_v1_ReleaseResponse__Output } from './framemill/v1/ReleaseResponse.js';
import type { ReportRequest as _framemill_v1_ReportRequest, ReportRequest__Output as _framemill_v1_ReportRequest__Output } from './framemill/v1/ReportRequest.js';
import type { ReportResponse as _framemill_v1_ReportResponse, ReportResponse__Output as _framemill_v1_ReportResponse__Output } from './framemill/v1/ReportResponse.js';
import type { Usage as _framemill_v1_Usage, Usage__Output as _framemill_v1_Usage__Output } from './framemill/v1/Usage.js';
import type { WorkerServiceClient as _framemill_v1_WorkerServiceClient, WorkerServiceDefinition as _framemill_v1_WorkerServiceDefinition } from './framemill/v1/WorkerService.js';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  framemill: {
    v1: {
      AnnounceRequest: MessageTypeDefinition<_framemill_v1_AnnounceRequest, _framemill_v1_AnnounceRequest__Output>
      AnnounceResponse: MessageTypeDefinition<_framemill_v1_AnnounceResponse, _framemill_v1_AnnounceResponse__Output>
      Artifact: MessageTypeDefinition<_framemill_v1_Artifact, _framemill_v1_Artifact__Output>
      Chunk: MessageTypeDefinition<_framemill_v1_Chunk, _framemill_v1_Chunk__Output>
      ClaimOutcome: EnumTypeDefinition
      ClaimRequest: MessageTypeDefinition<_framemill_v1_ClaimRequest, _framemill_v1_ClaimRequest__Output>
      ClaimResponse: MessageTypeDefinition<_framemill_v1_ClaimResponse, _framemill_v1_ClaimResponse__Output>
      CompleteRequest: MessageTypeDefinition<_framemill_v1_CompleteRequest, _framemill_v1_CompleteRequest__Output>
      CompleteResponse: MessageTypeDefinition<_framemill_v1_CompleteResponse, _framemill_v1_CompleteResponse__Output>
      Cost: MessageTypeDefinition<_framemill_v1_Cost, _framemill_v1_Cost__Output>
      FailOutcome: EnumTypeDefinition
      FailRequest: MessageTypeDefinition<_framemill_v1_FailRequest, _framemill_v1_FailRequest__Output>
      FailResponse: MessageTypeDefinition<_framemill_v1_FailResponse, _framemill_v1_FailResponse__Output>
      HeartbeatRequest: MessageTypeDefinition<_framemill_v1_HeartbeatRequest, _framemill_v1_HeartbeatRequest__Output>
      HeartbeatResponse: MessageTypeDefinition<_framemill_v1_HeartbeatResponse, _framemill_v1_HeartbeatResponse__Output>
      Lease: MessageTypeDefinition<_framemill_v1_Lease, _framemill_v1_Lease__Output>
      LeaseOutcome: EnumTypeDefinition
      LeaseRef: MessageTypeDefinition<_framemill_v1_LeaseRef, _framemill_v1_LeaseRef__Output>
      Prices: MessageTypeDefinition<_framemill_v1_Prices, _framemill_v1_Prices__Output>
      RecordOutcome: EnumTypeDefinition
      ReleaseRequest: MessageTypeDefinition<_framemill_v1_ReleaseRequest, _framemill_v1_ReleaseRequest__Output>
      ReleaseResponse: MessageTypeDefinition<_framemill_v1_ReleaseResponse, _framemill_v1_ReleaseResponse__Output>
      ReportRequest: MessageTypeDefinition<_framemill_v1_ReportRequest, _framemill_v1_ReportRequest__Output>
      ReportResponse: MessageTypeDefinition<_framemill_v1_ReportResponse, _framemill_v1_ReportResponse__Output>
      Usage: MessageTypeDefinition<_framemill_v1_Usage, _framemill_v1_Usage__Output>
      WorkerService: SubtypeConstructor<typeof grpc.Client, _framemill_v1_WorkerServiceClient> & { service: _framemill_v1_WorkerServiceDefinition }
      WorkerState: EnumTypeDefinition
    }
  }
}

