import { z } from 'zod';
import type { Selector } from '#conductor/model/site/site-run.ts';
import { NodeLabels } from '#conductor/sites/documents/strategy-document.ts';
import { isMapping } from '#conductor/sites/site.ts';
import {
  indexOfSite,
  type NodeIndex,
  type SelectableNode,
  selectIndexed,
  selectPositions,
  uniteIndexes,
} from '#conductor/sites/strategy/select-nodes.ts';
import { boundedList } from '#shared/bounded-list.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { firstIssues } from '#shared/errors/describe-issues.ts';

/** Drydock's node filter, or the seed's selectors, read: which sets of nodes are joined, and how. */
export interface NodeFilter {
  readonly join: 'union' | 'intersection';
  /** None = all nodes. */
  readonly filters: readonly {
    /** How the criteria of the selector are joined; a union of none is nobody. */
    readonly join: 'union' | 'intersection';
    readonly selector: Selector;
  }[];
}

const names = (what: string) =>
  z
    .array(z.string({ error: `must be a list of ${what}` }), { error: `must be a list of ${what}` })
    .nullish()
    .transform((list) => list ?? []);

/** More than any site has racks. */
const mostFilters = 1_000;

const join = z.enum(['union', 'intersection'], { error: 'must be union or intersection' });

const criteria = {
  node_names: names('node names'),
  node_tags: names('tags'),
  node_labels: NodeLabels.nullish().transform((labels) => labels ?? []),
  rack_names: names('rack names'),
};

const Selectors = boundedList(
  z.array(z.strictObject(criteria, { error: faultTexts('a selector') }), {
    error: 'must be a list of selectors, [] for all nodes',
  }),
  mostFilters,
);

const FilterSet = z.strictObject(
  {
    filter_set_type: join.default('union'),
    filter_set: boundedList(
      z.array(
        z.strictObject(
          {
            filter_type: join.default('intersection'),
            ...criteria,
            rack_labels: z
              .unknown()
              .refine((value) => isMapping(value ?? {}) && Object.keys(value ?? {}).length === 0, {
                error: 'must be empty: racks have no labels here; rack_names chooses by rack',
              })
              .optional(),
          },
          { error: faultTexts('a filter') },
        ),
        { error: 'must be a list of filters, [] for all nodes' },
      ),
      mostFilters,
    ),
  },
  { error: faultTexts('a node filter') },
);

function faultTexts(what: string) {
  return (issue: { readonly code?: string; readonly keys?: readonly string[] }) =>
    issue.code === 'unrecognized_keys'
      ? `${(issue.keys ?? []).join(', ')}: ${what} has no such field`
      : `must be ${what}, an object`;
}

/**
 * A node filter in any of its forms: none at all for all nodes; Drydock's (airship.md §6.1); selectors of a deployment
 * strategy, as a list or as `{selectors: […]}`. Where Drydock differs the seed holds: a filter that asks for nothing is
 * all nodes, an empty set too, and labels are texts. Criteria that can't be honoured are refused, not left out. Pure.
 * @param field for the messages
 * @throws AppError `invalid_argument` naming each field that is wrong
 */
export function readNodeFilter(value: unknown, field: string): NodeFilter {
  if (value === undefined || value === null) return { join: 'union', filters: [] };
  const listed = Array.isArray(value) ? { list: value, at: field } : undefined;
  const named =
    isMapping(value) && 'selectors' in value ? { list: value['selectors'], at: `${field}.selectors` } : listed;
  if (named) {
    const selectors = parse(Selectors, named.list, named.at);
    return { join: 'union', filters: selectors.map((selector) => ({ join: 'intersection', selector })) };
  }
  const { filter_set_type: type, filter_set: filters } = parse(FilterSet, value, field);
  return {
    join: type,
    filters: filters.map(({ filter_type: how, node_names, node_tags, node_labels, rack_names }) => ({
      join: how,
      selector: { node_names, node_tags, node_labels, rack_names },
    })),
  };
}

function parse<Output>(schema: z.ZodType<Output>, value: unknown, field: string): Output {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const faults = firstIssues(parsed.error.issues, ({ path, message }) => {
    const place = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
    return `${field}${place}: ${message}`;
  });
  throw new AppError('invalid_argument', faults.join('; '));
}

/** The names of those that the filter chooses, each once, in the order of the nodes. Pure. */
export function filterNodes({ join: how, filters }: NodeFilter, nodes: ReadonlyMap<string, SelectableNode>): string[] {
  const index = indexOfSite(nodes);
  const isPlain = how === 'union' && filters.every(({ join: each }) => each === 'intersection');
  if (isPlain) {
    const selectors = filters.map(({ selector }) => selector);
    return [...selectIndexed(selectors, index)];
  }
  const all = index.names.map((_, position) => position);
  const sets = filters.map((filter) =>
    filter.join === 'union' ? anyCriterion(filter.selector, index) : (selectPositions(filter.selector, index) ?? all),
  );
  const chosen = how === 'union' ? uniteIndexes(sets) : (intersect(sets) ?? all);
  return chosen.map((position) => index.names[position] ?? '');
}

function anyCriterion(selector: Selector, index: NodeIndex): readonly number[] {
  const alone = Object.entries(selector).map(([name, values]) => selectPositions({ [name]: values }, index));
  return uniteIndexes(alone.filter((positions) => positions !== undefined));
}

/** `undefined` for no lists. */
function intersect(lists: readonly (readonly number[])[]): readonly number[] | undefined {
  const [first, ...others] = lists;
  const sets = others.map((list) => new Set(list));
  return first?.filter((position) => sets.every((set) => set.has(position)));
}
