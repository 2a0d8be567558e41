import type { Miss, SuccessCriteria } from '#conductor/model/site/site-run.ts';

/** How a group's members stand after a phase. */
export interface Tally {
  /** All members, no matter who acted on them. */
  readonly members: number;
  /** Number of nodes that have the phase behind them. One that has not is a failure, also when never attempted. */
  readonly succeeded: number;
}

/**
 * The criteria that are not met, in the order percentage, minimum, maximum; none = the group goes on (seed 000, "Success
 * Criteria"). Each is judged for itself; a group without members has 100 %, no successes and no failures (DESIGN.md).
 * @returns `actual` of the percentage is not rounded: 2 of 3 are 66.666… and miss 67
 */
export function judgeCriteria(criteria: SuccessCriteria | undefined, { members, succeeded }: Tally): Miss[] {
  const failed = members - succeeded;
  const misses: Miss[] = [];
  const { percent_successful_nodes: percent, minimum_successful_nodes: minimum } = criteria ?? {};
  const maximum = criteria?.maximum_failed_nodes;
  // in whole numbers: 57 / 100 * 100 is less than 57
  if (percent !== undefined && succeeded * 100 < percent * members) {
    misses.push({ criterion: 'percent_successful_nodes', needed: percent, actual: (succeeded * 100) / members });
  }
  if (minimum !== undefined && succeeded < minimum) {
    misses.push({ criterion: 'minimum_successful_nodes', needed: minimum, actual: succeeded });
  }
  if (maximum !== undefined && failed > maximum) {
    misses.push({ criterion: 'maximum_failed_nodes', needed: maximum, actual: failed });
  }
  return misses;
}

/** `2 of 4 nodes succeeded; percent_successful_nodes asks for 90 %, there are 50 %` */
export function describeMisses(misses: readonly Miss[], { members, succeeded }: Tally): string {
  const each = misses.map(({ criterion, needed, actual }) => {
    if (criterion === 'maximum_failed_nodes') return `${criterion} allows ${needed}, there are ${actual}`;
    const unit = criterion === 'percent_successful_nodes' ? ' %' : '';
    return `${criterion} asks for ${needed}${unit}, there are ${Math.floor(actual * 10) / 10}${unit}`;
  });
  return [`${succeeded} of ${members} nodes succeeded`, ...each].join('; ');
}
