import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadStepContext, type Work } from '#conductor/flows/load-step-context.ts';
import { noteSilence } from '#conductor/flows/log/note-silence.ts';
import type { FlowRow, FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

test('an agent that a power action has ended is not told as one that never called in', async () => {
  const { context } = api;
  const { uuid } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1' });
  const note = { nodeUuid: uuid, eventType: 'power', conductor: 'c1' };
  await addHistory(context.db, { ...note, event: "'power off' done" });
  const startedAt = new Date(Date.now() + 60_000);
  const node = await getNode(context.db, uuid);
  const load = async (flow: Partial<FlowRow>, inBand = true) => {
    const work = { context, node, session: null, flow: { nodeUuid: uuid, ...flow } } as unknown as Work;
    const step = { interface: 'deploy', step: 'prepare_disks', inBand, args: {} } as unknown as FlowStepRow;
    return loadStepContext(work, { step, isRepeated: false, noteSilence });
  };
  const never = 'no agent has called in on this node';
  expect((await load({ startedAt })).agent).toThrow(never);
  const amid = await load({ startedAt: new Date(0) });
  expect(amid.agent).toThrow(/^no agent is there any more: 'power off' done at \d{4}-\d\d-\d\dT/);
  expect((await load({ startedAt: new Date(0) }, false)).agent).toThrow(never);
});
