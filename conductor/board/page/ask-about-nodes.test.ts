import { expect, test } from 'vitest';
import type { PlanView } from '#conductor/api/flows.ts';
import { composePlans, questionAbout } from '#conductor/board/page/ask-about-nodes.ts';
import { actionsForRows } from '#conductor/board/render/board-actions.ts';
import { boardNode } from '#conductor/board/testing/board-node.ts';

const rowOf = (uuid: string) => ({
  node: boardNode({ uuid, provision_state: 'active', power_state: null }),
  flow: undefined,
});
const deploying = (uuid: string) => ({
  node: boardNode({ uuid, provision_state: 'wait call-back' }),
  flow: { kind: 'deploy', ended_at: null },
});

const isCounted = async (title: string, rows: readonly object[]) => {
  const action = actionsForRows(rows as Parameters<typeof actionsForRows>[0])[title];
  if (!action) throw new Error(`no ${title}`);
  return (await questionAbout(action).prepare()).isCounted;
};

test.each(['Power off', 'Power on', 'Reboot'])(
  '%s of several nodes is counted by hand, of one it is not',
  async (title) => {
    expect(await isCounted(title, ['a', 'b'].map(rowOf))).toBe(true);
    expect(await isCounted(title, [rowOf('a')])).toBe(false);
  },
);

test('so is an abort; the begin of maintenance ends nothing', async () => {
  expect(await isCounted('Abort the deploy', ['a', 'b'].map(deploying))).toBe(true);
  expect(await isCounted('Begin maintenance', ['a', 'b'].map(rowOf))).toBe(false);
});

const plan: PlanView = {
  node: 'a',
  kind: 'deploy',
  hash: 'ab'.repeat(32),
  complete: true,
  boot_mode: 'uefi',
  reboots: 1,
  predicted_seconds: null,
  switch_ports: [],
  destroys: [],
  steps: [],
  warnings: [],
};
const asked = (uuid: string) => ({
  node: boardNode({ uuid }),
  request: { method: 'PUT', path: `v1/nodes/${uuid}/states/provision`, body: { target: 'rebuild' } } as const,
});
const compose = (isBinding: boolean, ...plans: readonly Partial<PlanView>[]) => {
  const nodes = plans.map((_, index) => asked(`n${index}`));
  const read = nodes.map(({ node }, index) => ({ node, plan: { ...plan, ...plans[index] }, refusal: undefined }));
  const { sending, isCounted } = composePlans(nodes, { isBinding }, read);
  return { bodies: sending.map(({ request }) => request.body), isCounted };
};

test('a request has the hash of a complete plan, which conductors refuse of any other', () => {
  const bound = { target: 'rebuild', plan_hash: plan.hash };
  const free = { target: 'rebuild' };
  expect(compose(true, {}, { complete: false }).bodies).toEqual([bound, free]);
  expect(compose(false, {}).bodies).toEqual([free]);
});

test('nodes that lose what they have are counted by hand, and those of which it is not known', () => {
  const disk = { name: '/dev/sda', serial: null, model: null, size_bytes: null, contents: [], by: [] };
  expect(compose(true, {}, {}).isCounted).toBe(false);
  expect(compose(true, {}, { destroys: [disk] }).isCounted).toBe(true);
  expect(compose(true, {}, { complete: false }).isCounted).toBe(true);
  expect(compose(true, { complete: false }).isCounted).toBe(false);
});
