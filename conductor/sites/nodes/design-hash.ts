import { createHash } from 'node:crypto';
import type { Site, SiteNode } from '#conductor/sites/site.ts';

/**
 * SHA-256 of what a node's deploy depends on: image, config drive, networks, RAID, BIOS settings, and the plugins (by
 * what they do, too: a version may be deleted and uploaded again) with the roles by which they choose nodes. Rack and labels are not of it: they are changed without a deploy. Pure.
 */
export function designHash(site: Pick<Site, 'plugins'>, node: SiteNode): string {
  const design = {
    instanceInfo: node.instanceInfo,
    configDrive: node.configDrive,
    networks: node.ports.map(({ address, network }) => [address, network ?? null]),
    targetRaid: node.targetRaid,
    biosSettings: node.biosSettings,
    plugins: site.plugins.map(({ name, version, content }) => [name, version, ...(content ? [content] : [])]),
    roles: site.plugins.length > 0 ? [...node.tags].sort() : [],
  };
  return createHash('sha256').update(JSON.stringify(design, sortKeys)).digest('hex');
}

/** The database gives an object's keys in another order than a document has them. */
function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
