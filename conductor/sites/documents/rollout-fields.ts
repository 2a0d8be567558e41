import { z } from 'zod';
import { expectedMessage } from '#conductor/model/expected.ts';
import { isRolledOut, type RolloutRules, weekdays } from '#conductor/model/site/rollout.ts';
import type { SiteFault } from '#conductor/model/site/site-report.ts';
import type { GroupDefinition } from '#conductor/model/site/site-run.ts';
import { healthGates, sameGateFaults } from '#conductor/sites/documents/health-gates.ts';
import { fieldFault, namesThereAre, shownText, strictObject } from '#conductor/sites/documents/schema-faults.ts';
import type { SiteDocument } from '#conductor/sites/site.ts';
import { isTimeZone } from '#conductor/sites/strategy/rollout/window.ts';
import type { NodeIndex } from '#conductor/sites/strategy/select-nodes.ts';

/** Fields of a group that begin its nodes in parts (docs/sites.md "Rollouts"); a strategy of Airship has none of them. */

const countRule = 'a number of nodes, 1 or more, or a share of them such as "10%"';
const nodeCount = z
  .union([z.number(), z.string()], expectedMessage(countRule))
  .refine(isNodeCount, `must be ${countRule}`);
const atLeastOne = (what: string) => z.int(expectedMessage(what)).min(1, `must be ${what}`);
const domainRule = '"rack", or "label:" and the key of a label';
const domain = z.string(expectedMessage(domainRule)).regex(/^(rack|label:\P{Cc}+)$/u, `must be ${domainRule}`);

const outLimit = strictObject({ nodes: nodeCount, per: domain.exactOptional() });
const outRule = `${countRule}; {nodes: …, per: rack}; or a list of such`;
const MaxUnavailable = z
  .union([nodeCount, outLimit, z.array(z.union([nodeCount, outLimit])).min(1)], expectedMessage(outRule))
  .transform((given) => [given].flat().map((each) => (typeof each === 'object' ? each : { nodes: each })));

const timeRule = 'a time of day in quotes, such as "22:00"';
const timeOfDay = z.string(expectedMessage(timeRule)).regex(/^([01]\d|2[0-3]):[0-5]\d$/, `must be ${timeRule}`);
const dayRule = `a list of days: ${weekdays.join(', ')}`;
const zoneRule = 'a time zone such as Europe/Berlin';

export const rolloutFields = {
  canary: strictObject({
    nodes: atLeastOne('a number of nodes, 1 or more').default(1),
    stay_seconds: z
      .int(expectedMessage('a whole number of seconds, 0 or more'))
      .min(0, 'must be a whole number of seconds, 0 or more')
      .default(0),
  }).exactOptional(),
  batch: z
    .union(
      [nodeCount, z.array(nodeCount).min(1)],
      expectedMessage(`${countRule}; or a list of such, one for each batch`),
    )
    .transform((given) => [given].flat())
    .exactOptional(),
  max_unavailable: MaxUnavailable.exactOptional(),
  order: strictObject({
    by: domain,
    manner: z.enum(['together', 'spread'], expectedMessage('together or spread')).default('together'),
  }).exactOptional(),
  pause_on: strictObject({
    failed_nodes: nodeCount.exactOptional(),
    same_cause: z
      .int(expectedMessage('a number of nodes, 2 or more'))
      .min(2, 'must be a number of nodes, 2 or more')
      .exactOptional(),
  })
    .refine((given) => Object.keys(given).length > 0, 'must have failed_nodes or same_cause')
    .exactOptional(),
  window: strictObject({
    from: timeOfDay,
    to: timeOfDay,
    days: z
      .array(z.enum(weekdays, expectedMessage(dayRule)), expectedMessage(dayRule))
      .min(1, `must be ${dayRule}`)
      .exactOptional(),
    zone: shownText.refine(isTimeZone, `must be ${zoneRule}`),
  })
    .refine(({ from, to }) => from !== to, {
      path: ['to'],
      error: 'must not be the same time as from: nothing would ever begin',
    })
    .exactOptional(),
  health: healthGates.exactOptional(),
};

function isNodeCount(given: number | string): boolean {
  return typeof given === 'number' ? Number.isInteger(given) && given >= 1 : /^([1-9]|[1-9]\d|100)%$/.test(given);
}

/** Finds rules of one group that contradict each other. */
export function rolloutFaults(
  document: SiteDocument,
  group: RolloutRules & { readonly deploy_as_prepared?: boolean },
  index: number,
): SiteFault[] {
  const path = (field: string): PropertyKey[] => ['data', 'groups', index, field];
  const faults = sameGateFaults(document, group.health ?? [], path('health'));
  if (group.deploy_as_prepared !== false || !isRolledOut(group)) return faults;
  const message =
    'must not be false beside canary, batch, max_unavailable, window or health, which deploy each node as it is prepared';
  return [...faults, fieldFault(document, path('deploy_as_prepared'), message, 'InvalidValue')];
}

/**
 * Finds rules that do not fit the group's nodes: more canaries than nodes, labels that no node has.
 * @param members number of the group's nodes; rules of an empty group fit
 */
export function unfitRollout(
  document: SiteDocument,
  { group, place, members }: { readonly group: GroupDefinition; readonly place: number; readonly members: number },
  { byLabel }: Pick<NodeIndex, 'byLabel'>,
): SiteFault[] {
  if (members === 0) return [];
  const path = ['data', 'groups', place];
  const { canary, max_unavailable: limits = [], order } = group;
  const faults: SiteFault[] = [];
  if (canary && canary.nodes > members) {
    const message = `must not be more than the group has nodes, which are ${members} (given: ${canary.nodes})`;
    faults.push(fieldFault(document, [...path, 'canary', 'nodes'], message, 'ImpossibleRollout'));
  }
  const domains = [...limits.map(({ per }) => [per, 'max_unavailable'] as const), [order?.by, 'order'] as const];
  for (const [by, field] of domains) {
    const label = by?.startsWith('label:') === true ? by.slice('label:'.length) : undefined;
    if (label === undefined || byLabel.has(label)) continue;
    const message = `names label ${label}, which no node has${namesThereAre(label, [...byLabel.keys()])}`;
    faults.push(fieldFault(document, [...path, field], message, 'UnknownLabel'));
  }
  return faults;
}
