import type { JsonObject } from '#conductor/model/json-object.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { StepInterface } from '#shared/wire/step.ts';

/** A task's `stage`, parsed. */
export interface TaskStage {
  readonly name: 'pre_deployment' | 'post_deployment';
  /** The postfix as it is written: `100.0`, `-99.9`; absent = none, which counts as 0. */
  readonly postfix?: string;
}

/** The work of a task. Timeouts are seconds. */
export type TaskWork =
  | {
      readonly type: 'shell';
      /** Given to `/bin/sh -c`. */
      readonly cmd: string;
      readonly timeout: number;
      /** From the folder of the plugin's scripts; absent = that folder. */
      readonly cwd?: string;
      readonly env?: Readonly<Record<string, string>>;
    }
  | {
      readonly type: 'step';
      readonly interface: StepInterface;
      readonly step: string;
      readonly args: JsonObject;
      readonly timeout?: number;
    }
  | { readonly type: 'reboot'; readonly timeout: number };

/** One task of a plugin's `tasks.yaml`, checked. */
export type PluginTask = TaskWork & {
  /** Unique in its plugin. */
  readonly id?: string;
  /** Tags of nodes; `*` = all nodes. */
  readonly roles: '*' | readonly string[];
  readonly stage: TaskStage;
  /** Tasks of the same stage that come before, and after: `plugin/id`. */
  readonly requires: readonly string[];
  readonly requiredFor: readonly string[];
};

/** A plugin with its tasks in the file's order. */
export interface PluginTasks {
  readonly name: string;
  readonly version: string;
  /** `contentHash`; absent where nobody has uploaded it. */
  readonly content?: string;
  readonly tasks: readonly PluginTask[];
}

/** `post_deployment/100`, as it was written. */
export function stageText({ name, postfix }: TaskStage): string {
  return postfix === undefined ? name : `${name}/${postfix}`;
}

/** A decimal number, exact: floats would take 0.1 and 0.10000000000000000001 for one. */
interface Decimal {
  readonly sign: -1 | 0 | 1;
  /** Without leading zeros. */
  readonly whole: string;
  /** Without trailing zeros. */
  readonly fraction: string;
}

/** Sign, digits, and a point with digits after it, before which there may be none; `undefined` for all else. */
export function parseDecimal(text: string): Decimal | undefined {
  const found = /^([+-]?)(\d+(?=\.\d|$)|(?=\.\d))(?:\.(\d+))?$/.exec(text);
  if (!found) return undefined;
  const whole = (found[2] ?? '').replace(/^0+/, '');
  const fraction = (found[3] ?? '').replace(/0+$/, '');
  const isZero = whole === '' && fraction === '';
  return { sign: isZero ? 0 : found[1] === '-' ? -1 : 1, whole, fraction };
}

/** Negative when `a` is lower. */
export function compareDecimals(a: Decimal, b: Decimal): number {
  if (a.sign !== b.sign) return a.sign - b.sign;
  return (
    a.sign * (a.whole.length - b.whole.length || compareText(a.whole, b.whole) || compareText(a.fraction, b.fraction))
  );
}

/** By code point, which is the order of UTF-8's bytes; of two fractions, the longer one is the higher. */
export function compareText(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

const stageNames = ['pre_deployment', 'post_deployment'] as const;
const maxLength = 80;

const allowed =
  'it must be pre_deployment or post_deployment, which one slash and a decimal number may follow: ' +
  'post_deployment/100, pre_deployment/-99.9';

/**
 * `stage` of a task (seed 002; as strict as Fuel's plugin builder, fuel-order.md §1.1).
 * @throws AppError `invalid_argument` with the text, and what is allowed.
 */
export function parseStage(text: string): TaskStage {
  const slash = text.indexOf('/');
  const word = slash < 0 ? text : text.slice(0, slash);
  const name = stageNames.find((each) => each === word);
  const postfix = slash < 0 ? undefined : text.slice(slash + 1);
  const isNumber = postfix === undefined || parseDecimal(postfix) !== undefined;
  if (name === undefined || !isNumber || text.length > maxLength) {
    throw new AppError('invalid_argument', `${JSON.stringify(text.slice(0, maxLength))}: ${allowed}`);
  }
  return postfix === undefined ? { name } : { name, postfix };
}

const zero: Decimal = { sign: 0, whole: '', fraction: '' };

/** The number that a task's place goes by; none = 0. */
export function postfixOf(stage: TaskStage): Decimal {
  return (stage.postfix === undefined ? undefined : parseDecimal(stage.postfix)) ?? zero;
}

/** Pre before post. */
export function stageRank(stage: TaskStage): number {
  return stageNames.indexOf(stage.name);
}

/** The convention for a range of postfixes (seed 002): nothing enforces it. */
interface PostfixRange {
  readonly from: number;
  readonly to: number;
  readonly meaning: string;
}

/** The seed's; the committed text of Fuel has the meanings of 5000 and 6000 the other way round (fuel-order.md §1.2). */
export const postfixRanges: readonly PostfixRange[] = [
  { from: 0, to: 999, meaning: 'hardware configuration, for example drivers' },
  { from: 1000, to: 1999, meaning: 'reserved' },
  { from: 2000, to: 2999, meaning: 'disk partitioning and volumes' },
  { from: 3000, to: 3999, meaning: 'reserved' },
  { from: 4000, to: 4999, meaning: 'network configuration' },
  { from: 5000, to: 5999, meaning: 'software deployment' },
  { from: 6000, to: 6999, meaning: 'reserved' },
  { from: 7000, to: 7999, meaning: 'reserved' },
  { from: 8000, to: 8999, meaning: 'monitoring services' },
];

/** The range that a stage's postfix is in: 999.5 is in the one that ends with 999. */
export function rangeOf(stage: TaskStage): PostfixRange | undefined {
  const postfix = postfixOf(stage);
  const isBelow = (limit: number): boolean => {
    const bound = parseDecimal(String(limit));
    return bound !== undefined && compareDecimals(postfix, bound) < 0;
  };
  return postfixRanges.find(({ from, to }) => !isBelow(from) && isBelow(to + 1));
}
