import { eq, getTableColumns, sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findAgentSession, forgetAgentSession, insertAgentSession } from '#conductor/agents/agent-session-store.ts';
import { createHeartbeatStore } from '#conductor/agents/heartbeat-store.ts';
import { recordOutcome } from '#conductor/flows/engine/record-outcome.ts';
import { insertFlow, listSteps, makeOpenFlowsDue } from '#conductor/flows/log/flow-store.ts';
import type { ConductorStepOutcome } from '#conductor/flows/step-context.ts';
import { openDatabase, type Transaction } from '#conductor/kernel/db/open.ts';
import { rowsOf } from '#conductor/kernel/db/query/statement.ts';
import { flowSteps, flows, nodeFlow } from '#conductor/kernel/db/schema/flow.ts';
import { nodeLeases, nodes } from '#conductor/kernel/db/schema/node.ts';
import { plannedCore } from '#conductor/model/flows/planned-step.ts';
import { claimLease } from '#conductor/nodes/node-lease.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { readConfig } from '#conductor/start/config.ts';
import { type OpenedContext, openContext } from '#conductor/start/open-context.ts';
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
const changeAll = async (tx: Transaction) => {
  await tx.update(nodes).set({ description: 'mine' });
  return { owner: 'mine' };
};
const outcomes: Record<string, ConductorStepOutcome> = {
  wait: { kind: 'wait', code: 'time_wait', reason: 'nobody', timeoutMs: 1000, checkEveryMs: 1000 },
  again: { kind: 'again', code: 'time_wait', reason: 'nobody', timeoutMs: 1000, checkEveryMs: 1000 },
  hold: { kind: 'hold', code: 'operator_word', reason: 'nobody' },
  done: { kind: 'done', output: 'mine' },
  reboot: { kind: 'reboot', reason: 'mine' },
  facts: { kind: 'done', record: changeAll },
  last: { kind: 'done', output: 'mine' },
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
      flow: await db
        .select({ ...getTableColumns(flows), ...nodeFlow })
        .from(flows)
        .where(eq(flows.uuid, flowUuid)),
      steps: await listSteps(db, flowUuid),
      events: rowsOf(await db.execute(sql`select count(*)::int as n from flow_events where flow_uuid = ${flowUuid}`)),
    });
    const before = await read();
    const [flow, step] = [before.flow[0], before.steps[0]];
    if (!flow || !step) throw new Error('no flow');
    await db
      .update(nodeLeases)
      .set({ holder: 'winner', token: lease.token + 1 })
      .where(eq(nodeLeases.nodeUuid, nodeUuid));
    const next = before.steps[1];
    const end = (tx: Transaction) => changeAll(tx).then(() => true);
    const along = kind === 'last' ? { end } : next && { start: next };
    const recorded = recordOutcome(context, { lease, node: before.node, flow, step }, outcome, along);
    await expect(recorded).rejects.toMatchObject({ code: 'lease_lost' });
    expect(await read()).toEqual(before);
  }
});

const machine = { driver: 'fake-hardware', networkInterface: 'noop', provisionState: 'wait call-back' } as const;
const contact = { callbackUrl: 'https://10.0.0.9:9999', version: '11', certificate: null };

test('a heartbeat whose token was compared before its machine booted again is not of the new boot', async () => {
  const { db } = opened.context;
  const nodeUuid = crypto.randomUUID();
  await db.insert(nodes).values({ uuid: nodeUuid, ...machine });
  await insertAgentSession(db, nodeUuid, 'old boot');
  const heartbeats = createHeartbeatStore(db);
  const { session } = await heartbeats.session(nodeUuid);
  if (!session) throw new Error('no session');
  await forgetAgentSession(db, nodeUuid);
  await insertAgentSession(db, nodeUuid, 'new boot');

  const late = heartbeats.store({ ...contact, nodeUuid, token: session.token });
  const fresh = heartbeats.store({ ...contact, nodeUuid, token: 'new boot', callbackUrl: 'https://10.0.0.10:9999' });

  await expect(late).rejects.toMatchObject({ code: 'invalid_argument' });
  expect(await fresh).toBe('wakes nobody');
  expect(await findAgentSession(db, nodeUuid)).toMatchObject({ callbackUrl: 'https://10.0.0.10:9999' });
  const moved = heartbeats.store({ ...contact, nodeUuid, token: 'new boot' });
  await expect(moved).rejects.toMatchObject({ code: 'invalid_argument' });
});

test('heartbeats of many, conductors that start, and a flow that is being written of never lock each other up', async () => {
  const { db } = opened.context;
  const starting = await openDatabase({ url: server.url, dataDirectory: '' });
  try {
    const uuids = Array.from({ length: 300 }, () => crypto.randomUUID());
    await db.insert(nodes).values(uuids.map((uuid) => ({ uuid, ...machine })));
    // in another order than the heartbeats'
    await db.insert(flows).values(
      uuids.toReversed().map((nodeUuid) => ({
        uuid: crypto.randomUUID(),
        nodeUuid,
        kind: 'deploy' as const,
        state: 'waiting' as const,
      })),
    );
    await Promise.all(uuids.map((nodeUuid) => insertAgentSession(db, nodeUuid, 'token')));
    const stores = [createHeartbeatStore(db), createHeartbeatStore(starting.db)];
    const shuffled = (turn: number) => [...uuids.slice(turn * 37), ...uuids.slice(0, turn * 37)];
    const state = { ended: false };
    const beats = stores.map(async ({ store }, index) => {
      for (let round = 0; round < 4; round += 1) {
        const answers = await Promise.all(
          shuffled(round + index).map((nodeUuid) => store({ ...contact, nodeUuid, token: 'token' })),
        );
        expect(new Set(answers)).toEqual(new Set(['wakes a flow']));
      }
    });
    const starts = async (): Promise<void> => {
      while (!state.ended) await makeOpenFlowsDue(starting.db);
    };
    const started = starts();
    await Promise.all(beats).finally(() => {
      state.ended = true;
    });
    await started;
    const [slow = ''] = uuids;
    const { promise: written, resolve: commit } = Promise.withResolvers<void>();
    const { promise: locked, resolve: hasLocked } = Promise.withResolvers<void>();
    const work = starting.db.transaction(async (tx) => {
      await tx.update(flows).set({ state: 'running' }).where(eq(flows.nodeUuid, slow));
      hasLocked();
      await written;
      // as when the machine is powered off
      await forgetAgentSession(tx, slow);
    });
    await locked;
    await makeOpenFlowsDue(db);
    const beat = createHeartbeatStore(db).store({ ...contact, nodeUuid: slow, token: 'token' });
    const answer = beat.catch(() => 'is refused');
    commit();
    await work;
    // it came before or after: neither of the two waits for the other
    expect(['wakes a flow', 'is refused']).toContain(await answer);
  } finally {
    await starting.close();
  }
});
