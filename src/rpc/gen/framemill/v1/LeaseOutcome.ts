// Original file: proto/framemill/v1/worker.proto

export const LeaseOutcome = {
  LEASE_OUTCOME_UNSPECIFIED: 'LEASE_OUTCOME_UNSPECIFIED',
  LEASE_OUTCOME_HELD: 'LEASE_OUTCOME_HELD',
  LEASE_OUTCOME_STALE: 'LEASE_OUTCOME_STALE',
} as const;

export type LeaseOutcome =
  | 'LEASE_OUTCOME_UNSPECIFIED'
  | 0
  | 'LEASE_OUTCOME_HELD'
  | 1
  | 'LEASE_OUTCOME_STALE'
  | 2

export type LeaseOutcome__Output = typeof LeaseOutcome[keyof typeof LeaseOutcome]
