/** What the command line says beside the number of rounds; a suite takes what concerns it. */
export interface SuiteOptions {
  /** Few and short: a look, not a measurement to be published. */
  readonly quick?: boolean;
  /** Seconds within which a clip of the load suite should end. */
  readonly objective?: number;
  /** The same for what is answered at once. */
  readonly replyObjective?: number;
  /** What an hour of the machine costs. */
  readonly dollarsPerHour?: number;
  /** Model of a suite that is told which. */
  readonly model?: string;
  /** File of prompts, one a line, for a suite that takes them. */
  readonly prompts?: string;
  /** Folders of published models that transformers.js opens as well. */
  readonly peerModels?: readonly string[];
}
