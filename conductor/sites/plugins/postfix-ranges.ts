import { compareDecimals, parseDecimal } from '#conductor/sites/plugins/decimal.ts';
import { postfixOf } from '#conductor/sites/plugins/parse-stage.ts';
import type { TaskStage } from '#conductor/sites/plugins/plugin-task.ts';

/** What postfixes are for, by convention (seed 002): nothing enforces it. */
export interface PostfixRange {
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
