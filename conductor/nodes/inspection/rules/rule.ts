/** As Ironic's (ironic-api.md, `inspection_rules`). */
export interface InspectionRule {
  readonly description: string;
  /** The highest comes first. */
  readonly priority: number;
  /** All of them must hold. */
  readonly conditions: readonly RuleCall[];
  readonly actions: readonly RuleCall[];
}

/** What to do or look at, and its arguments by name. */
export interface RuleCall {
  /** `!eq`: the opposite of `eq`. */
  readonly op: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** What arguments an operation takes, in the order of a list. */
export interface Signature {
  readonly required: readonly string[];
  readonly optional: readonly string[];
  /** What is wrong with them besides. */
  readonly fault?: (args: RuleCall['args']) => string | undefined;
}
