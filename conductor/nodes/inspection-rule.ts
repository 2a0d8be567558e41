/** A rule as Ironic's (ironic-api.md, `inspection_rules`). */
export interface InspectionRule {
  readonly description: string;
  /** The highest comes first. */
  readonly priority: number;
  /** Whether its effect is never shown; nor what rules after it log, which may reveal it. */
  readonly sensitive: boolean;
  /** All of them must hold. */
  readonly conditions: readonly RuleCall[];
  readonly actions: readonly RuleCall[];
}

/** The operation, and its arguments by name. */
export interface RuleCall {
  /** `!eq`: the opposite of `eq`. */
  readonly op: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Done for each of these, which `{item}` stands for. */
  readonly loop?: readonly unknown[] | Readonly<Record<string, unknown>> | undefined;
  /** Items of a condition's loop for which it must hold; default: any. */
  readonly multiple?: 'any' | 'all' | 'first' | 'last' | undefined;
}

/**
 * Lists what `{item}` stands for, time after time: the elements of a list, or once an object as a whole; `undefined`
 * without a loop, for which Ironic's answers have an empty list. Pure.
 */
export function itemsOf(loop: RuleCall['loop']): readonly unknown[] | undefined {
  if (loop === undefined || Object.keys(loop).length === 0) return undefined;
  return Array.isArray(loop) ? loop : [loop];
}

/** Arguments that an operation takes, in the order of a list. */
export interface Signature {
  readonly required: readonly string[];
  readonly optional: readonly string[];
  /** Describes what is wrong with them besides. */
  readonly fault?: (args: RuleCall['args']) => string | undefined;
}
