// Original file: proto/keda/externalscaler.proto


export interface IsActiveResponse {
  'result'?: (boolean);
}

export interface IsActiveResponse__Output {
  'result': (boolean);
}
