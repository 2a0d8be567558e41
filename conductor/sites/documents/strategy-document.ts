import { z } from 'zod';
import { expectedMessage } from '#conductor/model/expected.ts';
import type { SiteFault } from '#conductor/model/site/site-report.ts';
import type { Strategy } from '#conductor/model/site/site-run.ts';
import { rolloutFaults, rolloutFields } from '#conductor/sites/documents/rollout-fields.ts';
import { readData, shownText, strictObject } from '#conductor/sites/documents/schema-faults.ts';
import { documentOf, isMapping, type SiteDocument } from '#conductor/sites/site.ts';
import { orderGroups } from '#conductor/sites/strategy/plan-site.ts';

interface LabelFault {
  readonly path: readonly (string | number)[];
  /** `must be …` */
  readonly message: string;
  /** The message repeats the value. */
  readonly quotesValue?: true;
}

/**
 * A selector's `node_labels` as pairs: a list of `key: value` mappings and of texts `"key: value"` with exactly one
 * colon, in any mixture, or one mapping. Blanks around keys and values do not count. Pure.
 */
export function readLabels(value: unknown): {
  readonly labels: (readonly [string, string])[];
  readonly faults: LabelFault[];
} {
  const labels: (readonly [string, string])[] = [];
  const faults: LabelFault[] = [];
  const fromMapping = (mapping: Readonly<Record<string, unknown>>, path: readonly (string | number)[]): void => {
    for (const [key, given] of Object.entries(mapping)) {
      if (typeof given === 'string') add(key, given, [...path, key]);
      else faults.push({ path: [...path, key], message: textRule(given) });
    }
  };
  const add = (key: string, given: string, path: readonly (string | number)[]): void => {
    const [left, right] = [key.trim(), given.trim()];
    if (/\p{Cc}/u.test(left + right)) faults.push({ path, message: 'must have no control characters' });
    else if (left !== '' && right !== '') labels.push([left, right]);
    else faults.push({ path, message: `must have a key and a value: "rack_kind: dense"` });
  };
  if (isMapping(value)) {
    fromMapping(value, []);
    return { labels, faults };
  }
  if (!Array.isArray(value)) {
    return { labels, faults: [{ path: [], message: 'must be a list of labels, each "key: value"' }] };
  }
  for (const [index, item] of value.entries()) {
    if (isMapping(item)) fromMapping(item, [index]);
    else if (typeof item !== 'string') faults.push({ path: [index], message: 'must be "key: value"' });
    else {
      const parts = item.split(':');
      if (parts.length === 2) add(parts[0] ?? '', parts[1] ?? '', [index]);
      else {
        const message = `is ${JSON.stringify(item)}, which has ${parts.length - 1} colons; it must have exactly one: "key: value"`;
        faults.push({ path: [index], message, quotesValue: true });
      }
    }
  }
  return { labels, faults };
}

/** YAML reads 1.10 as 1.1 and yes or True in its own way: what is to be compared as text must be text. */
function textRule(given: unknown): string {
  const isBare = typeof given === 'number' || typeof given === 'boolean';
  return isBare ? 'must be text: put it into quotes' : 'must be text';
}

const names = (of: string) => z.array(shownText, expectedMessage(`a list of ${of}`));
const count = (what: string) => z.int(expectedMessage(what)).min(0, `must be ${what}`);
const atLeastOne = (what: string) => z.int(expectedMessage(what)).min(1, `must be ${what}`);
const percentRule = 'a number from 0 to 100';
const seconds = atLeastOne('a whole number of seconds, 1 or more').exactOptional();

export const NodeLabels = z.unknown().transform((value, context) => {
  const { labels, faults } = readLabels(value);
  for (const { path, message, ...params } of faults) {
    context.addIssue({ code: 'custom', path: [...path], message, params });
  }
  return labels;
});

const Selector = strictObject({
  node_names: names('node names').exactOptional(),
  node_tags: names('tags').exactOptional(),
  node_labels: NodeLabels.exactOptional(),
  rack_names: names('rack names').exactOptional(),
});

const Group = strictObject({
  name: shownText,
  critical: z.boolean(expectedMessage('true or false')),
  depends_on: names('group names, [] for none'),
  selectors: z.array(Selector, expectedMessage('a list of selectors, [] for all nodes')),
  success_criteria: strictObject({
    percent_successful_nodes: z
      .number(expectedMessage(percentRule))
      .min(0, `must be ${percentRule}`)
      .max(100, `must be ${percentRule}`)
      .exactOptional(),
    minimum_successful_nodes: count('a number of nodes, 0 or more').exactOptional(),
    maximum_failed_nodes: count('a number of nodes, 0 or more').exactOptional(),
  }).exactOptional(),
  max_parallel_nodes: atLeastOne('a number of nodes, 1 or more').exactOptional(),
  deploy_as_prepared: z.boolean(expectedMessage('true or false')).exactOptional(),
  prepare_timeout: seconds,
  deploy_timeout: seconds,
  ...rolloutFields,
});

/** `shipyard/DeploymentStrategy/v1`: seed 000, and our extensions (docs/documents.md). */
const StrategyData = strictObject({
  groups: z.array(Group, expectedMessage('a list of groups')),
  max_parallel_groups: atLeastOne('a number of groups, 1 or more').default(1),
});

/** The strategy, and what is wrong with it by itself: its form, and how its groups depend on each other. */
export function readStrategy(document: SiteDocument, faults: SiteFault[]): Strategy | undefined {
  const data = readData(document, StrategyData, faults);
  if (!data) return undefined;
  faults.push(...data.groups.flatMap((group, index) => rolloutFaults(document, group, index)));
  const dependencies = orderGroups(data.groups).faults;
  faults.push(...dependencies.map((fault) => ({ ...fault, document: documentOf(document) })));
  return { name: document.name, ...data };
}

/** The strategy of a site without such a document: all nodes, and all of them must succeed. */
export const defaultStrategy: Strategy = {
  name: 'default',
  groups: [
    {
      name: 'default',
      critical: true,
      depends_on: [],
      selectors: [],
      success_criteria: { percent_successful_nodes: 100 },
    },
  ],
  max_parallel_groups: 1,
};
