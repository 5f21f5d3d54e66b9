// Original file: proto/framemill/v1/worker.proto

export const RecordOutcome = {
  RECORD_OUTCOME_UNSPECIFIED: 'RECORD_OUTCOME_UNSPECIFIED',
  RECORD_OUTCOME_RECORDED: 'RECORD_OUTCOME_RECORDED',
  RECORD_OUTCOME_STALE: 'RECORD_OUTCOME_STALE',
} as const;

export type RecordOutcome =
  | 'RECORD_OUTCOME_UNSPECIFIED'
  | 0
  | 'RECORD_OUTCOME_RECORDED'
  | 1
  | 'RECORD_OUTCOME_STALE'
  | 2

export type RecordOutcome__Output = typeof RecordOutcome[keyof typeof RecordOutcome]
