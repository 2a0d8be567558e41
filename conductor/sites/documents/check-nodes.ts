import { findDriver } from '#conductor/drivers/driver-table.ts';
import type { SiteFault } from '#conductor/model/site-fault.ts';
import type { ReadNodes } from '#conductor/sites/documents/read-nodes.ts';
import { fieldFault, type SuggestNames } from '#conductor/sites/documents/schema-faults.ts';
import type { SitePort } from '#conductor/sites/site.ts';
import { isMapping, type SiteDocument } from '#conductor/sites/site-document.ts';
import { parseMacAddress } from '#shared/mac-address.ts';

/** What isn't given isn't checked. */
export interface KnownToNodes {
  /** Names of stored credentials, of networks in the networks file, and of hardware types. */
  readonly credentials?: readonly string[];
  readonly networks?: readonly string[];
  readonly drivers?: readonly string[];
}

/** Who had it first. */
type Taken = Readonly<Record<'DuplicateBmc' | 'DuplicateMac' | 'DuplicateSwitchPort', Map<string, string>>>;

/** What nodes must not share, and names that lead outside the documents. Pure. */
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
      const message = `is no stored credential${stored}; user and password are kept by \`baton credential set NAME\`; a password needs \`account\` beside it in the same document`;
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
        const message = `have ${port.network}, which is no network${suggest(port.network, known.networks ?? [])}`;
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
