import { expect, test } from 'vitest';
import { questionAbout } from '#conductor/board/page/ask-about-nodes.ts';
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
