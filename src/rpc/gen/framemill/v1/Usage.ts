// Original file: proto/framemill/v1/worker.proto

import type { Long } from '@grpc/proto-loader';

export interface Usage {
  'inputTokens'?: (number | string | Long);
  'outputTokens'?: (number | string | Long);
  'images'?: (number | string | Long);
  'audioSeconds'?: (number | string);
  'videoSeconds'?: (number | string);
  'gpuMilliseconds'?: (number | string | Long);
  'characters'?: (number | string | Long);
  'searches'?: (number | string | Long);
  '_inputTokens'?: "inputTokens";
  '_outputTokens'?: "outputTokens";
  '_images'?: "images";
  '_audioSeconds'?: "audioSeconds";
  '_videoSeconds'?: "videoSeconds";
  '_characters'?: "characters";
  '_searches'?: "searches";
}

export interface Usage__Output {
  'inputTokens'?: (string);
  'outputTokens'?: (string);
  'images'?: (string);
  'audioSeconds'?: (number);
  'videoSeconds'?: (number);
  'gpuMilliseconds': (string);
  'characters'?: (string);
  'searches'?: (string);
}
