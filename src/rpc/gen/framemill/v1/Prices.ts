// Original file: proto/framemill/v1/worker.proto


export interface Prices {
  'inputTokens'?: (number | string);
  'outputTokens'?: (number | string);
  'images'?: (number | string);
  'audioSeconds'?: (number | string);
  'videoSeconds'?: (number | string);
  'characters'?: (number | string);
  'searches'?: (number | string);
  '_inputTokens'?: "inputTokens";
  '_outputTokens'?: "outputTokens";
  '_images'?: "images";
  '_audioSeconds'?: "audioSeconds";
  '_videoSeconds'?: "videoSeconds";
  '_characters'?: "characters";
  '_searches'?: "searches";
}

export interface Prices__Output {
  'inputTokens'?: (number);
  'outputTokens'?: (number);
  'images'?: (number);
  'audioSeconds'?: (number);
  'videoSeconds'?: (number);
  'characters'?: (number);
  'searches'?: (number);
}
