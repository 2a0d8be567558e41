import type { SiteRun } from '#conductor/model/site/site-run.ts';
import { readSite } from '#conductor/sites/documents/read-site.ts';
import { parseDocuments } from '#conductor/sites/documents/yaml/parse-documents.ts';
import { type SiteDocument, siteDocument } from '#conductor/sites/site.ts';
import { applyDecisions } from '#conductor/sites/strategy/apply-decisions.ts';
import { decideGroups } from '#conductor/sites/strategy/decide.ts';
import { planSite } from '#conductor/sites/strategy/plan-site.ts';
import { type BenchContext, type Figure, median, round } from '#test/bench/area.ts';

const groupCount = 200;
const rounds = 15;
const timeouts = { prepare: 1800, deploy: 3600 };

/**
 * From parsed documents to the first decision: validation, selection and planning of 1,000 and of 10,000 nodes in 200
 * groups that depend on each other; the median of many. The baseline of 10,000 is what ten sites of 1,000 take, each with
 * documents of its own, one after the other: as much to read from memory, and as much garbage. A beat is a decision on all
 * of them while all are at work.
 */
export function measureSitePlan({ say }: BenchContext): Record<string, Figure> {
  const [tenSmall, large] = [Array.from({ length: 10 }, () => documentsOf(1000)), documentsOf(10_000)];
  // measured in turn: what the machine's other users do falls on both
  const times = { tenSmall: [] as number[], large: [] as number[] };
  for (let index = 0; index < rounds; index += 1) {
    times.tenSmall.push(timeOf(() => tenSmall.forEach((each) => void plan(each, 1000))));
    times.large.push(timeOf(() => plan(large, 10_000)));
  }
  const run = allAtWork(large);
  const beats = Array.from({ length: rounds }, () => timeOf(() => decideGroups(run, 1000, timeouts)));
  const [slowestSmall, slowest] = [Math.max(...times.tenSmall), Math.max(...times.large)];
  say(`slowest: ${round(slowestSmall)} ms for ten times 1,000 nodes, ${round(slowest)} ms for 10,000`);
  const [linear, largeMs] = [median(times.tenSmall), median(times.large)];
  return {
    plan_ms_1000: { value: round(linear / 10), unit: 'ms' },
    plan_ms_10000: { value: round(largeMs), unit: 'ms', baseline: round(linear), ratio: round(linear / largeMs, 2) },
    beat_ms_10000: { value: round(median(beats), 2), unit: 'ms' },
  };
}

/** Groups that depend on nothing, all of them begun. */
function allAtWork(documents: readonly SiteDocument[]): SiteRun {
  const { site } = readSite(documents);
  if (!site) throw new Error('the documents are not a site');
  const groups = site.strategy.groups.map((group) => ({ ...group, depends_on: [] }));
  const run = planSite({ ...site, strategy: { ...site.strategy, groups } });
  return applyDecisions(run, decideGroups(run, 0, timeouts), 0);
}

function timeOf(work: () => unknown): number {
  const startedAt = performance.now();
  work();
  return performance.now() - startedAt;
}

function plan(documents: readonly SiteDocument[], nodes: number): SiteRun {
  const { site, faults } = readSite(documents);
  if (!site || faults.length > 0)
    throw new Error(
      `the documents have ${faults.length} faults: ${faults
        .map(({ message }) => message)
        .slice(0, 3)
        .join('; ')}`,
    );
  const run = planSite(site);
  const begun = applyDecisions(run, decideGroups(run, 0, site.timeouts), 0);
  const working = [...begun.nodes.values()].filter(({ work }) => work).length;
  if (run.nodes.size !== nodes || run.groups.length !== groupCount || working === 0) {
    throw new Error(`planned ${run.nodes.size} nodes in ${run.groups.length} groups, of which ${working} begin`);
  }
  return begun;
}

/**
 * Makes documents as they are once uploaded: reading YAML is the upload's work. Ten racks of groups, each behind one of
 * the rack before.
 */
function documentsOf(nodeCount: number): SiteDocument[] {
  const groups = Array.from({ length: groupCount }, (_, index) =>
    [
      `  - name: group-${index}`,
      `    critical: ${index % 2 === 0}`,
      `    depends_on: [${index >= groupCount / 10 ? `group-${index - groupCount / 10}` : ''}]`,
      '    selectors:',
      `    - {rack_names: [rack-${index}], node_tags: [compute, control], node_labels: ['zone: z${index % 4}']}`,
      '    success_criteria: {percent_successful_nodes: 90, maximum_failed_nodes: 5}',
    ].join('\n'),
  );
  const strategy = `max_parallel_groups: ${groupCount}\ngroups:\n${groups.join('\n')}`;
  const checksum = `sha256:${'ab'.repeat(32)}`;
  const profile = `oob: {type: redfish, credential: bench}\nresource_class: bench\nplatform: {image: http://images.example/os.raw, checksum: '${checksum}'}`;
  const nodes = Array.from({ length: nodeCount }, (_, index) => nodeText(index));
  const yaml = [
    documentText('shipyard/DeploymentStrategy/v1', 'deployment-strategy', strategy),
    documentText('drydock/HostProfile/v1', 'bench', profile),
    ...nodes,
  ];
  const { documents, faults } = parseDocuments(yaml.join(''));
  if (faults.length > 0) throw new Error(`read the documents: ${faults[0]?.message}`);
  return documents.map((document) => siteDocument('site', document));
}

function nodeText(index: number): string {
  const rack = index % groupCount;
  const mac = `52:54:00:${[index >> 16, index >> 8, index].map((part) => (part & 255).toString(16).padStart(2, '0')).join(':')}`;
  const address = `https://10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;
  const data = [
    'host_profile: bench',
    `oob: {address: '${address}'}`,
    `metadata: {rack: rack-${rack}, tags: [${index % 3 === 0 ? 'control' : 'compute'}], owner_data: {zone: z${rack % 4}}}`,
    `interfaces: {eth0: {mac: '${mac}'}}`,
  ];
  return documentText('drydock/BaremetalNode/v1', `node-${index}`, data.join('\n'));
}

function documentText(schema: string, name: string, data: string): string {
  return `---\nschema: ${schema}\nmetadata: {schema: metadata/Document/v1, name: ${name}}\ndata:\n${data.replaceAll(/^/gm, '  ')}\n`;
}
