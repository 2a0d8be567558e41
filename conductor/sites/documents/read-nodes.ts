import type { SiteFault } from '#conductor/model/site/site-report.ts';
import type { DrydockDocuments } from '#conductor/sites/documents/drydock-documents.ts';
import { mergeDesigns } from '#conductor/sites/documents/merge-designs.ts';
import { NodeData, type NodeDesign, ProfileData } from '#conductor/sites/documents/node-design.ts';
import { fieldFault, readData, type SuggestNames } from '#conductor/sites/documents/schema-faults.ts';
import { readSiteNode } from '#conductor/sites/documents/site-node.ts';
import type { SiteDocument, SiteNode } from '#conductor/sites/site.ts';

export interface ReadNodes {
  /** By name; with faults, those that can be made out. */
  readonly nodes: ReadonlyMap<string, SiteNode>;
  readonly documents: ReadonlyMap<string, SiteDocument>;
  /** Every node's document has been made out, so that what selectors don't choose is not there. */
  readonly complete: boolean;
}

interface Profile {
  readonly document: SiteDocument;
  readonly design: NodeDesign;
}

/** All `drydock/BaremetalNode/v1` with the `drydock/HostProfile/v1` beneath them. */
export function readNodes(
  documents: {
    readonly nodes: ReadonlyMap<string, SiteDocument>;
    readonly profiles: readonly SiteDocument[];
    readonly drydock: DrydockDocuments;
  },
  suggest: SuggestNames,
  faults: SiteFault[],
): ReadNodes {
  const profiles = new Map<string, Profile>();
  const broken = new Set<string>();
  for (const document of documents.profiles) {
    const design = readData(document, ProfileData, faults);
    if (design) profiles.set(document.name, { document, design });
    else broken.add(document.name);
    if (design) faults.push(...notHonoured(document, design, documents.drydock));
  }
  const resolve = profileResolver({ profiles, broken, suggest }, faults);
  for (const name of profiles.keys()) resolve(name);
  const nodes = new Map<string, SiteNode>();
  for (const document of documents.nodes.values()) {
    const design = readData(document, NodeData, faults);
    if (!design) continue;
    faults.push(...notHonoured(document, design, documents.drydock));
    const profile = nameOf(design.host_profile);
    if (profile !== undefined && !profiles.has(profile) && !broken.has(profile)) {
      faults.push(unknownProfile(document, profile, suggest(profile, profiles.keys())));
      continue;
    }
    const beneath = profile === undefined ? {} : resolve(profile);
    // what is wrong with the profile has been reported
    if (!beneath) continue;
    const merged = { document, design: mergeDesigns(design, beneath), drydock: documents.drydock };
    nodes.set(document.name, readSiteNode(merged, faults));
  }
  return { nodes, documents: documents.nodes, complete: nodes.size === documents.nodes.size };
}

/** Nobody reads a longer chain; merging each of a thousand profiles with all beneath it would take its time. */
const longestChain = 16;

/** `undefined` = nothing is known of it: unknown, in a circle, too deep, or with faults. */
function profileResolver(
  {
    profiles,
    broken,
    suggest,
  }: {
    readonly profiles: ReadonlyMap<string, Profile>;
    readonly broken: ReadonlySet<string>;
    readonly suggest: SuggestNames;
  },
  faults: SiteFault[],
): (name: string) => NodeDesign | undefined {
  const resolved = new Map<string, NodeDesign | undefined>();
  const depths = new Map<string, number>();
  return (name) => {
    // from the profile down to one that is known already, or that has none beneath it
    const members = new Set<string>();
    let at: string | undefined = name;
    let beneath: NodeDesign | undefined = {};
    let depth = 0;
    while (at !== undefined) {
      if (resolved.has(at)) {
        beneath = resolved.get(at);
        depth = depths.get(at) ?? 0;
        break;
      }
      const profile = profiles.get(at);
      if (!profile || members.has(at)) {
        const chain = [...members];
        const last = profiles.get(chain.at(-1) ?? '');
        if (profile) faults.push(circle(profile.document, [...chain.slice(chain.indexOf(at)), at]));
        else if (last && !broken.has(at)) faults.push(unknownProfile(last.document, at, suggest(at, profiles.keys())));
        beneath = undefined;
        break;
      }
      members.add(at);
      at = nameOf(profile.design.host_profile);
    }
    for (const each of [...members].toReversed()) {
      const profile = profiles.get(each);
      depth += 1;
      if (beneath && profile && depth > longestChain) faults.push(tooDeep(profile.document));
      beneath = beneath && profile && depth <= longestChain ? mergeDesigns(profile.design, beneath) : undefined;
      resolved.set(each, beneath);
      depths.set(each, depth);
    }
    return resolved.get(name);
  };
}

function nameOf(profile: string | null | undefined): string | undefined {
  return profile === '!' ? undefined : (profile ?? undefined);
}

function circle(document: SiteDocument, members: readonly string[]): SiteFault {
  const message = `leads in a circle: ${members.join(' → ')}; one of these profiles must have none beneath it`;
  return fieldFault(document, ['data', 'host_profile'], message, 'ProfileCycle');
}

function tooDeep(document: SiteDocument): SiteFault {
  const message = `has more than ${longestChain - 1} profiles beneath it, each the next one’s: put some of them together`;
  return fieldFault(document, ['data', 'host_profile'], message, 'ProfileDepth');
}

function unknownProfile(document: SiteDocument, name: string, others: string): SiteFault {
  const message = `${name} is not a drydock/HostProfile/v1${others}`;
  return fieldFault(document, ['data', 'host_profile'], message, 'UnknownProfile');
}

/**
 * Warns of what Drydock would do with a profile or node and Baton does not, and says what to do instead. A Warning
 * where the deployed system would differ from what the document says.
 */
function notHonoured(
  document: SiteDocument,
  design: NodeDesign,
  { networks, links, hardware }: DrydockDocuments,
): SiteFault[] {
  const faults: SiteFault[] = [];
  const report = (level: 'Warning' | 'Info', path: readonly string[], message: string): void => {
    faults.push(fieldFault(document, ['data', ...path], message, 'NotHonoured', level));
  };
  const { storage, platform } = design;
  const partitioned = Object.values(storage?.physical_devices ?? {}).some(
    (device) => device?.volume_group || (device?.partitions ?? []).length > 0,
  );
  if (partitioned || Object.keys(storage?.volume_groups ?? {}).length > 0) {
    const message = 'has partitions or volume groups, which Baton does not make: the image brings its own';
    report('Warning', ['storage'], message);
  }
  if (platform?.kernel) report('Warning', ['platform', 'kernel'], 'is not honoured: the image brings its kernel');
  if (Object.keys(platform?.kernel_params ?? {}).length > 0) {
    const message = 'is not honoured: the image has its own, and a plugin task may change them after the deploy';
    report('Warning', ['platform', 'kernel_params'], message);
  }
  for (const [name, each] of Object.entries(design.interfaces ?? {})) {
    if (each?.sriov) report('Warning', ['interfaces', name, 'sriov'], 'is not honoured: a plugin task may set it up');
    if (each?.device_link && !links.has(each.device_link)) {
      report('Info', ['interfaces', name, 'device_link'], 'is not used: there is no such drydock/NetworkLink/v1');
    }
  }
  const unknown = (design.addressing ?? []).find(
    ({ network }) => network !== design.oob?.network && !networks.has(network),
  );
  if (unknown) {
    const message = `gives the deployed system no address in ${unknown.network}: there is no such drydock/Network/v1`;
    report('Warning', ['addressing'], message);
  }
  if (typeof design.config_drive === 'object' && design.config_drive?.user_data) {
    const message =
      'is read by everyone who may read the site: substitute passwords, keys and tokens from encrypted documents';
    faults.push(fieldFault(document, ['data', 'config_drive', 'user_data'], message, 'ReadableByAll', 'Warning'));
  }
  if (design.primary_network && !networks.has(design.primary_network)) {
    report('Info', ['primary_network'], 'is not used: there is no such drydock/Network/v1');
  }
  if (design.hardware_profile && !hardware.has(design.hardware_profile)) {
    report('Info', ['hardware_profile'], 'is not used: there is no such drydock/HardwareProfile/v1');
  }
  return faults;
}
