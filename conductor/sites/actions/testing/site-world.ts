import { eq } from 'drizzle-orm';
import { siteActionNodes } from '#conductor/kernel/db/schema/site-action.ts';
import { textRemark } from '#conductor/model/remarks/remark.ts';
import type { NodeOutcome, NodePhase, Strategy } from '#conductor/model/site/site-run.ts';
import type { SiteOperations } from '#conductor/sites/actions/action-work.ts';
import { defaultSettings } from '#conductor/sites/documents/configuration-document.ts';
import { askGate } from '#conductor/sites/gates/ask-gate.ts';
import type { NodeReport } from '#conductor/sites/nodes/node-order.ts';
import type { Site, SiteNode } from '#conductor/sites/site.ts';
import type { SelectableNode } from '#conductor/sites/strategy/select-nodes.ts';
import type { ConductorContext } from '#conductor/start/open-context.ts';

/** A site of fake hardware. */
export function makeSite(
  nodes: readonly SelectableNode[],
  strategy: Pick<Strategy, 'groups'> & Partial<Strategy>,
  timeouts: Site['timeouts'] = { prepare: 1800, deploy: 3600 },
): Site {
  const made = nodes.map(({ name, rack, tags, labels }): [string, SiteNode] => [
    name,
    {
      name,
      ...(rack === undefined ? {} : { rack }),
      tags,
      labels,
      resourceClass: 'baremetal',
      driver: 'fake-hardware',
      driverInfo: {},
      properties: {},
      ports: [],
      traits: [],
    },
  ]);
  return {
    nodes: new Map(made),
    strategy: { name: 'deployment-strategy', max_parallel_groups: 1, ...strategy },
    timeouts,
    plugins: [],
    etcdClusters: [],
    settings: defaultSettings,
  };
}

type Step = `${NodePhase} ${string}`;

export interface SiteWorld {
  readonly operations: SiteOperations;
  /** `prepare ntp01`, in the order in which work was begun. */
  readonly begun: readonly Step[];
  /** Requests that must not be: not recorded before, or again after their end was recorded. */
  readonly violations: readonly string[];
}

export interface WorldOptions {
  readonly site: () => Site | undefined;
  /** Decides what becomes of a phase, and after how many looks; default: well, after two. */
  readonly fate?: (node: string, phase: NodePhase) => { readonly error?: string; readonly looks?: number };
  readonly verify?: (node: string) => NodeReport;
  /** Says of a canary why it is no longer in service; default: it is. */
  readonly outOfService?: (node: string) => string | undefined;
  /** Answers of health gates; default: what is asked in truth. */
  readonly askGate?: SiteOperations['askGate'];
}

/** A site's machines, which outlive conductors: what was begun goes on, and is known again. */
export function createWorld(
  db: ConductorContext['db'],
  { site, fate, verify, outOfService, askGate: ask = askGate }: WorldOptions,
): SiteWorld {
  const begun: Step[] = [];
  const violations: string[] = [];
  const looks = new Map<Step, number>();
  const report = (names: readonly string[]) =>
    Promise.resolve(new Map(names.map((name) => [name, verify?.(name) ?? { state: 'done' as const, findings: [] }])));

  const look = (name: string, phase: NodePhase, cancel: string | undefined): NodeOutcome => {
    const step: Step = `${phase} ${name}`;
    const seen = looks.get(step);
    if (seen === undefined) begun.push(step);
    if (cancel !== undefined) return { state: 'failed', error: textRemark(cancel) };
    const { error, looks: needed = 2 } = fate?.(name, phase) ?? {};
    looks.set(step, (seen ?? 0) + 1);
    if ((seen ?? 0) + 1 < needed) return { state: 'working', doing: textRemark(`${phase}, look ${(seen ?? 0) + 1}`) };
    return error === undefined ? { state: 'done' } : { state: 'failed', error: textRemark(error) };
  };
  const operations: SiteOperations = {
    checkRevision: () => {
      const found = site();
      if (found) return Promise.resolve({ site: found, faults: [] });
      return Promise.resolve({ faults: [{ level: 'Error', name: 'Broken', message: 'the documents are broken' }] });
    },
    readRevision: () => {
      const found = site();
      return found ? Promise.resolve(found) : Promise.reject(new Error('the documents are broken'));
    },
    advanceNodes: async (_context, { action, orders }) => {
      const rows = await db.select().from(siteActionNodes).where(eq(siteActionNodes.actionId, action.id));
      const phases = new Map(rows.map((row) => [row.name, row.phase]));
      return new Map(
        orders.map(({ node, phase, cancel }) => {
          if (phases.get(node.name) !== phase) violations.push(`${phase} ${node.name} is not what is recorded`);
          return [node.name, look(node.name, phase, cancel)];
        }),
      );
    },
    askGate: ask,
    verifyNodes: (_context, { names }) => report(names),
    relabelNodes: (_context, { names }) => report(names),
    findOutOfService: (_db, names) =>
      Promise.resolve(
        new Map(
          names.flatMap((name): [string, string][] => {
            const why = outOfService?.(name);
            return why === undefined ? [] : [[name, why]];
          }),
        ),
      ),
  };
  return { operations, begun, violations };
}
