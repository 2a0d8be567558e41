import { eq, inArray } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openApiCaller } from '#conductor/kernel/caller.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { siteActionNodes } from '#conductor/kernel/db/schema/site-action.ts';
import { planAction } from '#conductor/sites/actions/create-action.ts';
import { actionBecomes, hasEnded } from '#conductor/sites/actions/testing/action-lab.ts';
import { readFailures } from '#conductor/sites/rehearsal/ask-failures.ts';
import type { PhaseCourse } from '#conductor/sites/rehearsal/engine/course.ts';
import { drawPhase } from '#conductor/sites/rehearsal/engine/draw-phase.ts';
import { newRandom } from '#conductor/sites/rehearsal/engine/random.ts';
import { runOnce } from '#conductor/sites/rehearsal/engine/run-once.ts';
import { readOrder } from '#conductor/sites/rehearsal/read-order.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { addAvailableNode } from '#test/support/available-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { createDraw, type Draw } from '#test/support/draw.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { nodeDocument, strategyDocument } from '#test/support/site-documents.ts';

/** Rehearsed, and then run by the real engine on machines in memory. */

let conductor: ConductorInProcess;
let operator: Operator;
/** Machines whose BMC refuses. */
const broken = new Set<string>();
beforeAll(async () => {
  conductor = await startConductorInProcess({
    log: silentLog,
    settings: { BATON_SITE_BEAT_INTERVAL: '0.05', BATON_RECONCILE_INTERVAL: '0.1' },
    drivers: {
      fake: {
        beforeAction: (_action, fakeId) => {
          if (broken.has(fakeId)) throw new AppError('invalid_argument', 'refused on purpose');
        },
      },
    },
  });
  operator = createOperator(conductor.url);
});
afterAll(() => conductor.close());

/** Groups behind each other, with criteria; one begins all its nodes at once, another one after the other. */
function drawSite(draw: Draw, names: readonly string[]): string {
  const groups = ['g0', 'g1', 'g2'].map((name, index) => {
    const members = names.filter(() => draw.number(2) === 0);
    const depends = index > 0 && draw.number(2) === 0 ? `g${draw.number(index)}` : '';
    const criteria = draw.of(['{maximum_failed_nodes: 1}', '{percent_successful_nodes: 50}', '{}']);
    const more = draw.of([
      '',
      ', max_parallel_nodes: 1',
      ', canary: {nodes: 1}, max_parallel_nodes: 1',
      ', deploy_as_prepared: true, max_parallel_nodes: 1',
    ]);
    const selectors = `[{node_names: [${[...members, 'stranger'].join(', ')}]}]`;
    return `{name: ${name}, critical: false, depends_on: [${depends}], selectors: ${selectors}, success_criteria: ${criteria}${more}}`;
  });
  return names.map((name) => nodeDocument(name)).join('---\n') + strategyDocument(`[${groups.join(', ')}]`);
}

/** Draws nodes as they may be: unknown, at rest, kept from being touched, or with a BMC that refuses. */
async function drawNodes(draw: Draw, names: readonly string[]): Promise<void> {
  const { db } = conductor.context();
  for (const name of names) {
    const status = draw.of(['unknown', 'unknown', 'available', 'manageable', 'owned', 'maintained', 'broken'] as const);
    if (status === 'broken') broken.add(name);
    if (status === 'unknown' || status === 'broken') continue;
    await addAvailableNode(db, name, {
      driverInfo: { fake_id: name },
      ...(status === 'manageable' ? { provisionState: 'manageable' } : {}),
      ...(status === 'owned' ? { owner: 'team-a' } : {}),
      ...(status === 'maintained' ? { maintenance: true, maintenanceReason: 'fan' } : {}),
    });
  }
}

/** A course without recorded runs: a failure of an earlier site is none of this one. */
const inFixedTimes = ({ flows: kinds, end }: PhaseCourse): PhaseCourse => ({
  end,
  flows: kinds.map(({ kind }) => ({ kind })),
});

const seeds = [2, 3, 7, 8, 9];
test.each(seeds)('order of starts, flows and outcomes are those of the real action: drawn site %i', async (seed) => {
  const draw = createDraw(seed);
  const context = conductor.context();
  const { db } = context;
  broken.clear();
  const names = Array.from({ length: 6 }, (_, index) => `s${seed}n${index}`);
  await drawNodes(draw, names);
  const text = drawSite(draw, names);
  const sent = await fetch(`${conductor.url}/api/v1.0/configdocs/nodes?buffermode=replace`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-yaml' },
    body: text,
  });
  expect([sent.status, await sent.text()]).toEqual([201, expect.anything()]);
  await operator.call('POST', '/api/v1.0/commitconfigdocs');
  const request = { name: 'deploy_site', parameters: { 'allow-intermediate-commits': true } };

  const plan = await planAction(context, { ...request, caller: openApiCaller });
  const { scene, courses } = await readOrder(context, plan);
  const failing = [...broken].filter((name) => courses.get(name)?.prepare.flows.length);
  const { nodes: asked } = readFailures(
    failing.map((name) => `${name}@verify`),
    courses,
  );
  const begun: string[] = [];
  const { run } = runOnce(scene, {
    draw: (node, phase) => {
      const course = courses.get(node);
      if (!course) throw new Error(`no course of ${node}`);
      const failure = asked.get(node);
      return drawPhase(inFixedTimes(course[phase]), newRandom(seed), failure?.phase === phase ? failure.at : undefined);
    },
    watch: (decision) => {
      if (decision.kind === 'begin') begun.push(`${decision.group}: ${decision.phase} ${decision.nodes.join(', ')}`);
    },
  });

  const { id } = (await operator.call('POST', '/api/v1.0/actions', request)) as { id: string };
  await actionBecomes(context, id, hasEnded);
  const action = await operator.call('GET', `/api/v1.0/actions/${id}?verbosity=5`);
  const steps = action['steps'] as { id: string; notes: { subject: string | null; text: string }[] }[];
  const notes = steps.flatMap((step) => (step.id === 'baremetal_nodes' ? step.notes : []));
  const really = notes.flatMap(({ subject, text: said }) => {
    const [, phase, which] = /^(prepare|deploy) begins on \d+ nodes?: (.*)$/.exec(said) ?? [];
    return which === undefined ? [] : [`${subject}: ${phase} ${which}`];
  });
  expect(begun).toEqual(really);
  const rows = await db.select().from(siteActionNodes).where(eq(siteActionNodes.actionId, id));
  const ends = new Map(rows.map(({ name, status }) => [name, status]));
  expect(new Map([...run.nodes].map(([name, { status }]) => [name, status]))).toEqual(ends);
  const groups = action['groups'] as { name: string; stage: string }[];
  expect(run.groups.map(({ definition, stage }) => [definition.name, stage])).toEqual(
    groups.map(({ name, stage }) => [name, stage]),
  );
  const flowRows = await db
    .select({ name: nodes.name, kind: flows.kind, startedAt: flows.startedAt })
    .from(flows)
    .innerJoin(nodes, eq(nodes.uuid, flows.nodeUuid))
    .where(inArray(nodes.name, names))
    .orderBy(flows.startedAt);
  for (const [name, { status }] of run.nodes) {
    const { prepare, deploy } = courses.get(name) ?? { prepare: { flows: [] }, deploy: { flows: [] } };
    const followed = [...prepare.flows, ...deploy.flows].map(({ kind }) => kind);
    const done = flowRows.filter((row) => row.name === name).map(({ kind }) => kind);
    // one that failed, or was never begun, has come less far
    expect([name, done]).toEqual([name, status === 'success' ? followed : followed.slice(0, done.length)]);
  }
});
