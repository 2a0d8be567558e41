import { mergeDesigns } from '#conductor/sites/documents/merge-designs.ts';
import { NodeData, type NodeDesign, ProfileData } from '#conductor/sites/documents/node-design.ts';
import type { SiteDocument } from '#conductor/sites/site-document.ts';

/**
 * Documents as they are worked from: each node's with what it has from its host profiles, and naming none any more; all
 * others as they are. Pure.
 * @param documents in which `readSite` has found no errors
 */
export function renderDocuments(documents: readonly SiteDocument[]): SiteDocument[] {
  const profiles = new Map<string, NodeDesign>();
  for (const { schema, name, data } of documents) {
    if (schema === 'drydock/HostProfile/v1') profiles.set(name, ProfileData.parse(data));
  }
  const beneath = ({ host_profile: name }: NodeDesign): NodeDesign => {
    const profile = typeof name === 'string' ? profiles.get(name) : undefined;
    return profile ? mergeDesigns(profile, beneath(profile)) : {};
  };
  return documents.map((document) => {
    if (document.schema !== 'drydock/BaremetalNode/v1') return document;
    const design = NodeData.parse(document.data);
    return { ...document, data: mergeDesigns(design, beneath(design)) };
  });
}
