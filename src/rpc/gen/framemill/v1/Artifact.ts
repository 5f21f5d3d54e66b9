// Original file: proto/framemill/v1/worker.proto

import type { Long } from '@grpc/proto-loader';

export interface Artifact {
  'id'?: (string);
  'variant'?: (string);
  'mediaType'?: (string);
  'byteLength'?: (number | string | Long);
  'sha256'?: (string);
}

export interface Artifact__Output {
  'id': (string);
  'variant': (string);
  'mediaType': (string);
  'byteLength': (string);
  'sha256': (string);
}
