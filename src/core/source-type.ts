/**
 * How media came to be, in the words of the IPTC's vocabulary of digital source types
 * (cv.iptc.org/newscodes/digitalsourcetype), which C2PA and XMP share.
 */
export const SOURCE_TYPES = {
  /** Made by a model. */
  generated: "http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia",
  /** A model changed what a caller sent. */
  edited: "http://cv.iptc.org/newscodes/digitalsourcetype/compositeWithTrainedAlgorithmicMedia",
} as const;

export type SourceType = keyof typeof SOURCE_TYPES;
