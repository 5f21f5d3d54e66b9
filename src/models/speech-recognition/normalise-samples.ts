/** To a mean of 0 and a variance of 1 (transformers, Wav2Vec2FeatureExtractor). */
export function normaliseSamples(samples: Float32Array): Float32Array {
  const mean = samples.reduce((sum, one) => sum + one, 0) / samples.length;
  const variance = samples.reduce((sum, one) => sum + (one - mean) ** 2, 0) / samples.length;
  const scale = 1 / Math.sqrt(variance + 1e-7);
  return samples.map((one) => (one - mean) * scale);
}
