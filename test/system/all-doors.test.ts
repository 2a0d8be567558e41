import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { prepareConductor } from '#test/support/conductor.ts';
import {
  doorSettings,
  faultOf,
  furnish,
  knock,
  knocksAt,
  readHistories,
  ruleGivenUp,
} from '#test/support/walk-doors.ts';

test('every door bears the largest bodies that its row allows, and refuses more by its row, in each role and none', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'baton-doors-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const conductor = await prepareConductor({ ...(await doorSettings(directory)), BATON_LOG_LEVEL: 'warn' });
  onTestFinished(() => conductor.close());
  await conductor.start();
  await furnish(conductor.url);
  let count = 0;
  let histories = '';
  for await (const each of knocksAt(conductor.url)) {
    // the first is a hostile report
    if (count === 1) histories = await readHistories(conductor.url);
    count += 1;
    expect([each.name, faultOf(each, await knock(conductor.url, each))]).toEqual([each.name, undefined]);
  }
  expect(histories).toContain(ruleGivenUp);
  expect(count).toBeGreaterThan(3_000);
});
