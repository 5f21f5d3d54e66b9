/** Shares of a clip's time, as measured on two cores: they turn stages into one true progress. */
export const DENOISED_FRACTION = 0.3;
export const DECODED_FRACTION = 0.93;
export const MUXED_FRACTION = 0.97;
