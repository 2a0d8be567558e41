import type { SiteFault } from '#conductor/model/site-fault.ts';
import type { DrydockDocuments } from '#conductor/sites/documents/drydock-documents.ts';
import { mergeDesigns } from '#conductor/sites/documents/merge-designs.ts';
import { NodeData, type NodeDesign, ProfileData } from '#conductor/sites/documents/node-design.ts';
import { notHonoured } from '#conductor/sites/documents/not-honoured.ts';
import { fieldFault, readData, type SuggestNames } from '#conductor/sites/documents/schema-faults.ts';
import { readSiteNode } from '#conductor/sites/documents/site-node.ts';
import type { SiteNode } from '#conductor/sites/site.ts';
import type { SiteDocument } from '#conductor/sites/site-document.ts';

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
    // what is wrong with the profile has been told
    if (!beneath) continue;
    const merged = { document, design: mergeDesigns(design, beneath), drydock: documents.drydock };
    nodes.set(document.name, readSiteNode(merged, faults));
  }
  return { nodes, documents: documents.nodes, complete: nodes.size === documents.nodes.size };
}

/** Nobody reads a longer chain; merging each of a thousand profiles with all beneath it would take its time. */
const longestChain = 16;

/** `undefined` = nothing can be told of it: unknown, in a circle, too deep, or with faults. */
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
  const message = `${name} is no drydock/HostProfile/v1${others}`;
  return fieldFault(document, ['data', 'host_profile'], message, 'UnknownProfile');
}
