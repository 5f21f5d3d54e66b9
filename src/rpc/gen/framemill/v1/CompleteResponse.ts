// Original file: proto/framemill/v1/worker.proto

import type { RecordOutcome as _framemill_v1_RecordOutcome, RecordOutcome__Output as _framemill_v1_RecordOutcome__Output } from '../../framemill/v1/RecordOutcome.js';

export interface CompleteResponse {
  'outcome'?: (_framemill_v1_RecordOutcome);
}

export interface CompleteResponse__Output {
  'outcome': (_framemill_v1_RecordOutcome__Output);
}
