// Original file: proto/framemill/v1/worker.proto

import type { WorkerState as _framemill_v1_WorkerState, WorkerState__Output as _framemill_v1_WorkerState__Output } from '../../framemill/v1/WorkerState.js';
import type { Long } from '@grpc/proto-loader';

export interface AnnounceRequest {
  'workerId'?: (string);
  'state'?: (_framemill_v1_WorkerState);
  'models'?: (string)[];
  'slots'?: (number);
  'running'?: (number);
  'device'?: (string);
  'memoryBytes'?: (number | string | Long);
}

export interface AnnounceRequest__Output {
  'workerId': (string);
  'state': (_framemill_v1_WorkerState__Output);
  'models': (string)[];
  'slots': (number);
  'running': (number);
  'device': (string);
  'memoryBytes': (string);
}
