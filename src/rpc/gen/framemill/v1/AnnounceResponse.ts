// Original file: proto/framemill/v1/worker.proto


export interface AnnounceResponse {
  'drain'?: (boolean);
}

export interface AnnounceResponse__Output {
  'drain': (boolean);
}
