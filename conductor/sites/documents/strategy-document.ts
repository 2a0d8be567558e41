import { z } from 'zod';
import { expected } from '#conductor/model/expected.ts';
import type { SiteFault } from '#conductor/model/site-fault.ts';
import type { Strategy } from '#conductor/model/site-run.ts';
import { readLabels } from '#conductor/sites/documents/read-labels.ts';
import { readData, strictly, text } from '#conductor/sites/documents/schema-faults.ts';
import { documentOf, type SiteDocument } from '#conductor/sites/site-document.ts';
import { orderGroups } from '#conductor/sites/strategy/order-groups.ts';

/** `shipyard/DeploymentStrategy/v1`: seed 000, and our extensions (docs/documents.md). */

const names = (of: string) => z.array(text, expected(`a list of ${of}`));
const count = (what: string) => z.int(expected(what)).min(0, `must be ${what}`);
const atLeastOne = (what: string) => z.int(expected(what)).min(1, `must be ${what}`);
const percentRule = 'a number from 0 to 100';
const seconds = atLeastOne('a whole number of seconds, 1 or more').exactOptional();

const NodeLabels = z.unknown().transform((value, context) => {
  const { labels, faults } = readLabels(value);
  for (const { path, message, ...params } of faults) {
    context.addIssue({ code: 'custom', path: [...path], message, params });
  }
  return labels;
});

const Selector = strictly({
  node_names: names('node names').exactOptional(),
  node_tags: names('tags').exactOptional(),
  node_labels: NodeLabels.exactOptional(),
  rack_names: names('rack names').exactOptional(),
});

const Group = strictly({
  name: text,
  critical: z.boolean(expected('true or false')),
  depends_on: names('group names, [] for none'),
  selectors: z.array(Selector, expected('a list of selectors, [] for all nodes')),
  success_criteria: strictly({
    percent_successful_nodes: z
      .number(expected(percentRule))
      .min(0, `must be ${percentRule}`)
      .max(100, `must be ${percentRule}`)
      .exactOptional(),
    minimum_successful_nodes: count('a number of nodes, 0 or more').exactOptional(),
    maximum_failed_nodes: count('a number of nodes, 0 or more').exactOptional(),
  }).exactOptional(),
  max_parallel_nodes: atLeastOne('a number of nodes, 1 or more').exactOptional(),
  deploy_as_prepared: z.boolean(expected('true or false')).exactOptional(),
  prepare_timeout: seconds,
  deploy_timeout: seconds,
});

const StrategyData = strictly({
  groups: z.array(Group, expected('a list of groups')),
  max_parallel_groups: atLeastOne('a number of groups, 1 or more').default(1),
});

/** The strategy, and what is wrong with it by itself: its form, and how its groups depend on each other. */
export function readStrategy(document: SiteDocument, faults: SiteFault[]): Strategy | undefined {
  const data = readData(document, StrategyData, faults);
  if (!data) return undefined;
  const dependencies = orderGroups(data.groups).faults;
  faults.push(...dependencies.map((fault) => ({ ...fault, document: documentOf(document) })));
  return { name: document.name, ...data };
}

/** What a site without such a document is deployed by: all nodes, and all of them must succeed. */
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
