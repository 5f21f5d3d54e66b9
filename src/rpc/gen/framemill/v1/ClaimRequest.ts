// Original file: proto/framemill/v1/worker.proto


export interface ClaimRequest {
  'jobId'?: (string);
  'workerId'?: (string);
}

export interface ClaimRequest__Output {
  'jobId': (string);
  'workerId': (string);
}
