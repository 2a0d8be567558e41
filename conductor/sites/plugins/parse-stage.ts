import { type Decimal, parseDecimal } from '#conductor/sites/plugins/decimal.ts';
import type { TaskStage } from '#conductor/sites/plugins/plugin-task.ts';
import { AppError } from '#shared/errors/app-error.ts';

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
