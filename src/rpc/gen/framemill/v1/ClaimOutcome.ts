// Original file: proto/framemill/v1/worker.proto

export const ClaimOutcome = {
  CLAIM_OUTCOME_UNSPECIFIED: 'CLAIM_OUTCOME_UNSPECIFIED',
  CLAIM_OUTCOME_LEASED: 'CLAIM_OUTCOME_LEASED',
  CLAIM_OUTCOME_BUSY: 'CLAIM_OUTCOME_BUSY',
  CLAIM_OUTCOME_ALREADY_DONE: 'CLAIM_OUTCOME_ALREADY_DONE',
} as const;

export type ClaimOutcome =
  | 'CLAIM_OUTCOME_UNSPECIFIED'
  | 0
  | 'CLAIM_OUTCOME_LEASED'
  | 1
  | 'CLAIM_OUTCOME_BUSY'
  | 2
  | 'CLAIM_OUTCOME_ALREADY_DONE'
  | 3

export type ClaimOutcome__Output = typeof ClaimOutcome[keyof typeof ClaimOutcome]
