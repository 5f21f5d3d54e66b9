// Original file: proto/framemill/v1/worker.proto

export const FailOutcome = {
  FAIL_OUTCOME_UNSPECIFIED: 'FAIL_OUTCOME_UNSPECIFIED',
  FAIL_OUTCOME_RETRY: 'FAIL_OUTCOME_RETRY',
  FAIL_OUTCOME_FAILED: 'FAIL_OUTCOME_FAILED',
  FAIL_OUTCOME_STALE: 'FAIL_OUTCOME_STALE',
} as const;

export type FailOutcome =
  | 'FAIL_OUTCOME_UNSPECIFIED'
  | 0
  | 'FAIL_OUTCOME_RETRY'
  | 1
  | 'FAIL_OUTCOME_FAILED'
  | 2
  | 'FAIL_OUTCOME_STALE'
  | 3

export type FailOutcome__Output = typeof FailOutcome[keyof typeof FailOutcome]
