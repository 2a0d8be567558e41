import { eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '#conductor/config.ts';
import { flowSteps, flows } from '#conductor/db/schema/flow.ts';
import { nodeLeases, nodes } from '#conductor/db/schema/node.ts';
import { insertFlow, listSteps } from '#conductor/flows/flow-store.ts';
import { plannedCore } from '#conductor/flows/planned-step.ts';
import { recordOutcome } from '#conductor/flows/record-outcome.ts';
import type { ConductorStepOutcome } from '#conductor/flows/step-context.ts';
import { claimLease } from '#conductor/nodes/node-lease.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { type OpenedContext, openContext } from '#conductor/open-context.ts';
import { silentLog } from '#shared/log.ts';
import { type PostgresServer, startPostgresql } from '#test/support/postgresql.ts';

/** A conductor that was paused and has been taken over writes nothing, whatever its step came to. */

let server: PostgresServer;
let opened: OpenedContext;

beforeAll(async () => {
  server = await startPostgresql();
  opened = await openContext(readConfig({ ...server.settings, BATON_CONDUCTOR_NAME: 'paused' }), {
    log: silentLog,
  });
});
afterAll(async () => {
  await opened.close();
  await server.close();
});

const planned = ['deploy', 'write_image', 'boot_instance'].map((step) =>
  plannedCore({ interface: 'deploy', step, priority: 0 }),
);
const outcomes: Record<string, ConductorStepOutcome> = {
  wait: { kind: 'wait', reason: 'nobody', timeoutMs: 1000, checkEveryMs: 1000 },
  again: { kind: 'again', reason: 'nobody', timeoutMs: 1000, checkEveryMs: 1000 },
  hold: { kind: 'hold', reason: 'nobody' },
  done: { kind: 'done', output: 'mine' },
  reboot: { kind: 'reboot', reason: 'mine' },
  plan: { kind: 'done', plan: planned.slice(2), hardwareManagerVersion: { mine: '1' } },
};

test.each(Object.keys(outcomes))('%s', async (kind) => {
  const { context } = opened;
  const { db } = context;
  const outcome = outcomes[kind];
  if (!outcome) throw new Error(kind);
  // statements that the server knows already go out at once: the second and third time are the hard ones
  for (let round = 0; round < 3; round += 1) {
    const nodeUuid = crypto.randomUUID();
    await db
      .insert(nodes)
      .values({ uuid: nodeUuid, driver: 'fake-hardware', networkInterface: 'noop', provisionState: 'deploying' });
    const flowUuid = await db.transaction((tx) => insertFlow(tx, { nodeUuid, kind: 'deploy', steps: planned }));
    const lease = await claimLease(db, nodeUuid, { holder: 'paused', leaseMs: 60_000 });
    if (!lease) throw new Error('no lease');
    await db.update(flowSteps).set({ state: 'running' }).where(eq(flowSteps.step, 'deploy'));
    const read = async () => ({
      node: await getNode(db, nodeUuid),
      flow: await db.select().from(flows).where(eq(flows.uuid, flowUuid)),
      steps: await listSteps(db, flowUuid),
      events: await db.execute(sql`select count(*)::int as n from flow_events where flow_uuid = ${flowUuid}`),
    });
    const before = await read();
    const [flow, step] = [before.flow[0], before.steps[0]];
    if (!flow || !step) throw new Error('no flow');
    await db
      .update(nodeLeases)
      .set({ holder: 'winner', token: lease.token + 1 })
      .where(eq(nodeLeases.nodeUuid, nodeUuid));
    const next = before.steps[1];
    const recorded = recordOutcome(context, { lease, node: before.node, flow, step }, outcome, async (tx) => {
      if (next) await tx.update(flowSteps).set({ state: 'running' }).where(eq(flowSteps.uuid, next.uuid));
    });
    await expect(recorded).rejects.toMatchObject({ code: 'lease_lost' });
    expect(await read()).toEqual(before);
  }
});
