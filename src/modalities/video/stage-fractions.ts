/** Shares of a clip's time, as measured on two cores; when its latents are finished is for its model to say. */
export const DECODED_FRACTION = 0.93;
export const MUXED_FRACTION = 0.97;
