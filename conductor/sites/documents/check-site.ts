import { findDriver } from '#conductor/drivers/table/driver-table.ts';
import type { SiteFault } from '#conductor/model/site/site-report.ts';
import type { GroupDefinition, Selector, Strategy } from '#conductor/model/site/site-run.ts';
import type { ReadNodes } from '#conductor/sites/documents/read-nodes.ts';
import { unfitRollout } from '#conductor/sites/documents/rollout-fields.ts';
import {
  documentFault,
  fieldFault,
  namesThereAre,
  type SuggestNames,
} from '#conductor/sites/documents/schema-faults.ts';
import { isMapping, type SiteDocument, type SitePort } from '#conductor/sites/site.ts';
import { indexOfSite, type NodeIndex, selectIndexed } from '#conductor/sites/strategy/select-nodes.ts';
import { parseMacAddress } from '#shared/mac-address.ts';

/** Names that nodes' documents may refer to. Those that aren't given aren't checked. */
export interface KnownToNodes {
  /** Names of stored credentials, of networks in the networks file, and of hardware types. */
  readonly credentials?: readonly string[];
  readonly networks?: readonly string[];
  readonly drivers?: readonly string[];
}

/** Documents that had a value first. */
type Taken = Readonly<Record<'DuplicateBmc' | 'DuplicateMac' | 'DuplicateSwitchPort', Map<string, string>>>;

/** Checks that nodes share nothing they must not, and that no names lead outside the documents. Pure. */
export function checkNodes(
  { nodes, documents }: ReadNodes,
  known: KnownToNodes,
  suggest: SuggestNames,
  faults: SiteFault[],
): void {
  const taken: Taken = { DuplicateBmc: new Map(), DuplicateMac: new Map(), DuplicateSwitchPort: new Map() };
  const sets = {
    credentials: known.credentials && new Set(known.credentials),
    networks: known.networks && new Set(known.networks),
    drivers: known.drivers && new Set(known.drivers),
  };
  for (const node of nodes.values()) {
    const document = documents.get(node.name);
    if (!document) continue;
    const report = (path: readonly PropertyKey[], message: string, name: string): void => {
      faults.push(fieldFault(document, ['data', ...path], message, name));
    };
    const claim = (value: string, path: () => readonly PropertyKey[], name: keyof Taken): void => {
      const first = taken[name].get(value);
      if (first === undefined) taken[name].set(value, node.name);
      else
        report(path(), `is ${value}, which ${first === node.name ? 'this node' : `node ${first}`} has already`, name);
    };
    const { credential } = node;
    if (credential !== undefined && sets.credentials && !sets.credentials.has(credential)) {
      // perhaps a password: it is not repeated
      const stored = suggest(credential, known.credentials ?? []);
      const message = `is not a stored credential${stored}; user and password are kept by \`baton credential set NAME\`; a password needs \`account\` beside it in the same document`;
      report(['oob', 'credential'], message, 'UnknownCredential');
    }
    if (node.driver !== '' && sets.drivers && !sets.drivers.has(node.driver)) {
      const message = `means driver ${node.driver}, which this conductor has not${suggest(node.driver, known.drivers ?? [])}`;
      report(['oob', 'type'], message, 'UnknownDriver');
    }
    const bmc = findDriver(node.driver)?.site.machine?.(node.driverInfo);
    if (bmc !== undefined) claim(bmc, () => ['oob', 'address'], 'DuplicateBmc');
    for (const port of node.ports) {
      const place = (): readonly string[] => placeOf(port, document);
      claim(port.address, () => macPath(port, document), 'DuplicateMac');
      const plug = switchPortOf(port);
      if (plug !== undefined) claim(plug, () => [...place(), 'switch_port'], 'DuplicateSwitchPort');
      if (port.network !== undefined && sets.networks && !sets.networks.has(port.network)) {
        const message = `have ${port.network}, which is not a network${suggest(port.network, known.networks ?? [])}`;
        report([...place(), 'networks'], message, 'UnknownNetwork');
      }
    }
  }
}

function switchPortOf({ localLinkConnection: link }: SitePort): string | undefined {
  const [switchId, portId] = [link?.['switch_id'], link?.['port_id']];
  if (typeof switchId !== 'string' || typeof portId !== 'string') return undefined;
  return `${portId} of switch ${switchId.toLowerCase()}`;
}

function macPath(port: SitePort, document: SiteDocument): readonly string[] {
  const [, name] = placeOf(port, document);
  return name === undefined ? ['metadata', 'boot_mac'] : ['interfaces', name, 'mac'];
}

/** Where in the documents a port comes from; where its profile has it, just the interfaces. */
function placeOf({ address }: SitePort, document: SiteDocument): readonly string[] {
  const interfaces = isMapping(document.data) ? document.data['interfaces'] : undefined;
  const found = Object.entries(isMapping(interfaces) ? interfaces : {}).find(
    ([, each]) => isMapping(each) && typeof each['mac'] === 'string' && parseMacAddress(each['mac']) === address,
  );
  return found ? ['interfaces', found[0]] : ['interfaces'];
}

/**
 * Groups and nodes beside each other: whom a group chooses, whether it can succeed at all, and who is in none. Pure.
 * @param document of the strategy
 */
export function checkGroups(
  { nodes, documents }: ReadNodes,
  strategy: Strategy,
  document: SiteDocument,
  faults: SiteFault[],
): void {
  const index = indexOfSite(nodes);
  const grouped = new Set<string>();
  for (const [place, group] of strategy.groups.entries()) {
    const members = selectIndexed(group.selectors, index);
    // by far the most usual case, and the costliest
    if (grouped.size < nodes.size) for (const name of members) grouped.add(name);
    const given = { group, place, members: members.length };
    faults.push(...groupFaults(document, given, index), ...unfitRollout(document, given, index));
  }
  faults.push(...unmatchedSelectors(document, strategy.groups, index));
  if (grouped.size === nodes.size) return;
  for (const name of nodes.keys()) {
    const node = documents.get(name);
    if (!node || grouped.has(name)) continue;
    const message = `the node is in no group of strategy ${strategy.name}: it will not be deployed`;
    faults.push(documentFault(node, message, 'NodeWithoutGroup', 'Warning'));
  }
}

function groupFaults(
  document: SiteDocument,
  { group, place, members }: { readonly group: GroupDefinition; readonly place: number; readonly members: number },
  index: NodeIndex,
): SiteFault[] {
  const faults: SiteFault[] = [];
  const path = ['data', 'groups', place];
  if (members === 0) {
    const message = `of group ${group.name} choose no node: ${emptyReason(group.selectors, index)}`;
    faults.push(fieldFault(document, [...path, 'selectors'], message, 'EmptyGroup', 'Warning'));
  }
  if (group.critical && Object.keys(group.success_criteria ?? {}).length === 0) {
    const message =
      `is missing in group ${group.name}, which is critical: it succeeds whatever becomes of its nodes, unless its time ` +
      'is over; percent_successful_nodes: 100 asks for all of them';
    faults.push(fieldFault(document, [...path, 'success_criteria'], message, 'NoCriteria', 'Warning'));
  }
  const needed = group.success_criteria?.minimum_successful_nodes ?? 0;
  if (needed > members) {
    const outcome = group.critical ? 'it can only fail, and with it the action: it is critical' : 'it can only fail';
    const message = `is ${needed}, and group ${group.name} has ${members} ${members === 1 ? 'node' : 'nodes'}; ${outcome}`;
    faults.push(
      fieldFault(
        document,
        [...path, 'success_criteria', 'minimum_successful_nodes'],
        message,
        'ImpossibleCriterion',
        'Warning',
      ),
    );
  }
  return faults;
}

/** Why nobody is chosen, selector by selector. */
function emptyReason(selectors: readonly Selector[], index: NodeIndex): string {
  if (index.names.length === 0) return 'the site has no nodes';
  const reasons = selectors.map((selector) => {
    const criteria = Object.entries(selector).filter(([, values]) => values.length > 0);
    const failing = criteria.filter(
      ([criterion, values]) => selectIndexed([{ [criterion]: values }], index).length === 0,
    );
    const [names, reason] =
      failing.length > 0
        ? [failing.map(([criterion]) => criterion), 'matches none']
        : [criteria.map(([criterion]) => criterion), 'match, and no node has all of it'];
    return `${names.join(' and ')} ${failing.length > 1 ? 'match none' : reason}`;
  });
  return [...new Set(reasons)].join('; ');
}

/** Reported one by one, with what was probably meant: to look for it among ten thousand names takes its time. */
const faultTexts = 20;

/** Values in selectors that no node has: mostly misspelt, also where others choose nodes all the same. Pure. */
function unmatchedSelectors(document: SiteDocument, groups: readonly GroupDefinition[], index: NodeIndex): SiteFault[] {
  const unmatched = groups.flatMap(({ selectors }, place) =>
    selectors.flatMap((selector, nth) => unmatchedOf(selector, index).map((value) => ({ ...value, place, nth }))),
  );
  if (unmatched.length === 0) return [];
  const there: Readonly<Record<Criterion, readonly string[]>> = {
    node_names: [...index.byName.keys()],
    node_tags: [...index.byTag.keys()],
    node_labels: [...index.byLabel].flatMap(([key, values]) => [...values.keys()].map((value) => `${key}: ${value}`)),
    rack_names: [...index.byRack.keys()],
  };
  const faults = unmatched.slice(0, faultTexts).map(({ criterion, value, at, place, nth }) => {
    const message = `${value} is not a node's${namesThereAre(value, there[criterion])}`;
    const path = ['data', 'groups', place, 'selectors', nth, criterion, at];
    return fieldFault(document, path, message, 'UnmatchedSelector', 'Warning');
  });
  const more = unmatched.length - faultTexts;
  if (more <= 0) return faults;
  const message = `${more} more ${more === 1 ? 'value in selectors matches' : 'values in selectors match'} no node`;
  return [...faults, documentFault(document, message, 'UnmatchedSelector', 'Warning')];
}

type Criterion = keyof Selector;

interface Unmatched {
  readonly criterion: Criterion;
  readonly value: string;
  readonly at: number;
}

function unmatchedOf(selector: Selector, index: NodeIndex): Unmatched[] {
  const among = (criterion: Exclude<Criterion, 'node_labels'>, table: ReadonlyMap<string, unknown>): Unmatched[] =>
    (selector[criterion] ?? []).flatMap((value, at) => (table.has(value) ? [] : [{ criterion, value, at }]));
  const labels = (selector.node_labels ?? []).flatMap(([key, value], at): Unmatched[] =>
    index.byLabel.get(key)?.has(value) ? [] : [{ criterion: 'node_labels', value: `${key}: ${value}`, at }],
  );
  return [
    ...among('node_names', index.byName),
    ...among('node_tags', index.byTag),
    ...labels,
    ...among('rack_names', index.byRack),
  ];
}
