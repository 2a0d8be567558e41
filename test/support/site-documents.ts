import { createHash } from 'node:crypto';

/** Small documents of a site, as YAML, for tests. */

/** A node of fake hardware; `more` are further lines of `data`. */
export function nodeDocument(name: string, more = ''): string {
  const digits = createHash('sha256').update(name).digest('hex').slice(0, 6);
  const mac = ['52:54:00', ...(digits.match(/../g) ?? [])].join(':');
  return `---
schema: drydock/BaremetalNode/v1
metadata: {schema: metadata/Document/v1, name: ${name}}
data:
  oob: {type: fake, fake_id: ${name}}
  interfaces: {eno1: {mac: '${mac}'}}
  metadata: {rack: rack1, tags: [worker]}
  platform: {image: http://images.example/demo.raw, checksum: http://images.example/SHA256SUMS}
${more}`;
}

/** `groups` as a flow sequence: `[{name: g1, critical: true, depends_on: [], selectors: []}]`. */
export function strategyDocument(groups: string): string {
  return `---
schema: shipyard/DeploymentStrategy/v1
metadata: {schema: metadata/Document/v1, name: deployment-strategy}
data: {groups: ${groups}}
`;
}

/** One group of all nodes. */
export const plainStrategy = strategyDocument(
  '[{name: all, critical: true, depends_on: [], selectors: [], success_criteria: {percent_successful_nodes: 100}}]',
);
