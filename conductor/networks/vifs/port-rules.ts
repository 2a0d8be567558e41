import { z } from 'zod';
import { type Filter, type FilterSubject, parseFilter } from '#conductor/networks/vifs/filter-expression.ts';
import type { Vif, VifPort } from '#conductor/networks/vifs/place-vifs.ts';

/** Rules that choose ports for networks by traits of the instance: Ironic's trait-based networking. */

const leastGrouped = 2;
const filter = z.string('must be a filter expression').transform((text, context): Filter => {
  try {
    return parseFilter(text);
  } catch (error) {
    context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) });
    return () => false;
  }
});
const attaching = z.strictObject({
  action: z.enum(['attach_port', 'attach_portgroup']),
  filter,
  // a network has one port or port group of a node
  min_count: z.literal(1, 'must be 1: a network takes one port or port group').optional(),
  max_count: z.literal(1, 'must be 1: a network takes one port or port group').optional(),
});
const grouping = z
  .strictObject({
    action: z.literal('group_and_attach_ports'),
    filter,
    min_count: z.int().min(leastGrouped, `must be ${leastGrouped} or more`),
    max_count: z.int().optional(),
    /** Baton's own: the bonding mode of the group. */
    mode: z.enum(['balance-rr', 'active-backup', 'balance-xor', 'broadcast', '802.3ad']).optional(),
  })
  .refine(({ min_count: least, max_count: most = least }) => most >= least, {
    path: ['max_count'],
    error: 'must be min_count or more',
  });

/** Section `traits` of the networks file: a trait's name → its order and actions, as in Ironic's own file. */
export const PortRulesInFile = z.record(
  z.string().regex(/^CUSTOM_[A-Z0-9_]+$/, 'must be a trait: CUSTOM_ and capital letters, digits, underscores'),
  z.strictObject({
    order: z.int().default(1),
    actions: z
      .array(
        z.discriminatedUnion('action', [attaching, grouping], {
          error: 'action must be attach_port, attach_portgroup or group_and_attach_ports',
        }),
      )
      .min(1, 'must have at least one action'),
  }),
);

export type PortRules = z.infer<typeof PortRulesInFile>;

/** Fields of a port that rules look at. */
export interface RulePort extends VifPort {
  readonly id: number;
  readonly vendor: string | null;
  readonly category: string | null;
  readonly availableForDynamicPortgroup: boolean;
}

export interface RuleGroup {
  readonly id: number;
  readonly uuid: string;
  readonly address: string | null;
  readonly category: string | null;
  readonly physicalNetwork: string | null;
}

/** Place that rules give a network; `group`: of these ports a port group is to be made. */
export type ChosenPlace =
  | { readonly kind: 'port' | 'portgroup'; readonly uuid: string }
  | {
      readonly kind: 'group';
      readonly ports: readonly RulePort[];
      readonly physicalNetwork: string | null;
      readonly mode: string | undefined;
    };

/**
 * Chooses the place of a network by the rules of the instance's traits: the first action of the first trait, by `order`,
 * that finds free ports. Ports that are members of a group are free only as it. Pure.
 * @returns `no rules` where the instance has no trait with rules, `no match` where none of its rules finds a place
 */
export function choosePlace(
  rules: PortRules,
  traits: readonly string[],
  given: {
    readonly network: string;
    /** Ports that are connected. */
    readonly ports: readonly RulePort[];
    readonly groups: readonly RuleGroup[];
    readonly attached: readonly Vif[];
  },
): ChosenPlace | 'no rules' | 'no match' {
  const applicable = Object.entries(rules)
    .filter(([trait]) => traits.includes(trait))
    .map(([, rule]) => rule)
    .sort((one, other) => one.order - other.order);
  if (applicable.length === 0) return 'no rules';
  const { network } = given;
  // as in Ironic: the newest first
  const { ports, groups } = freeOf(given);
  for (const action of applicable.flatMap(({ actions }) => actions)) {
    if (action.action === 'group_and_attach_ports') {
      const members = chooseMembers(ports, action);
      const [first] = members;
      if (first && members.length >= action.min_count && action.filter(subjectOf(first, false, network)))
        return { kind: 'group', ports: members, physicalNetwork: first.physicalNetwork, mode: action.mode };
    } else if (action.action === 'attach_port') {
      const port = ports.find((each) => action.filter(subjectOf(each, false, network)));
      if (port) return { kind: 'port', uuid: port.uuid };
    } else {
      const group = groups.find((each) => action.filter(subjectOf({ ...each, vendor: null }, true, network)));
      if (group) return { kind: 'portgroup', uuid: group.uuid };
    }
  }
  return 'no match';
}

function freeOf({ ports, groups, attached }: Parameters<typeof choosePlace>[2]) {
  const taken = new Set(attached.flatMap(({ portUuid, portgroupUuid }) => [portUuid, portgroupUuid]));
  const newestFirst = <Each extends { readonly id: number; readonly uuid: string }>(all: readonly Each[]): Each[] =>
    all.filter(({ uuid }) => !taken.has(uuid)).sort((one, other) => other.id - one.id);
  const used = new Set(ports.map(({ portgroupUuid }) => portgroupUuid));
  return {
    ports: newestFirst(ports.filter(({ portgroupUuid }) => portgroupUuid === null)),
    groups: newestFirst(groups.filter(({ uuid }) => used.has(uuid))),
  };
}

/** Chooses the members of a group: all on the physical network of the first that fits. */
function chooseMembers(
  ports: readonly RulePort[],
  { filter: fits, max_count: most = Number.POSITIVE_INFINITY }: z.infer<typeof grouping>,
): RulePort[] {
  const fitting = ports.filter((port) => port.availableForDynamicPortgroup && fits(subjectOf(port, false, undefined)));
  return fitting.filter(({ physicalNetwork }) => physicalNetwork === fitting[0]?.physicalNetwork).slice(0, most);
}

function subjectOf(
  { address, category, physicalNetwork, vendor }: Omit<FilterSubject, 'isGroup' | 'network'>,
  isGroup: boolean,
  network: string | undefined,
): FilterSubject {
  return { isGroup, address, category, physicalNetwork, vendor, network };
}
