import { afterAll, beforeAll, expect, test } from 'vitest';
import { demoInstance } from '#test/support/enrol.ts';
import { type PromotionLab, startPromotionLab } from '#test/support/promotion-lab.ts';

/** The primary server is killed at each checkpoint of a deploy, and its synchronous standby promoted. */

let lab: PromotionLab;
beforeAll(async () => {
  lab = await startPromotionLab({ spares: 0 });
});
afterAll(() => lab.close());

test('at each checkpoint of a deploy: it goes on, nothing is lost, and nothing is written twice', async () => {
  const { pair, operator, machine } = lab;
  const promoted: number[] = [];
  for (let checkpoint = 1; promoted.length === checkpoint - 1; checkpoint += 1) {
    if (checkpoint > 1) await pair.follow();
    await pair.synchronous(true);
    const before = machine.disk.length;
    const state = { promoting: Promise.resolve() };
    lab.atCheckpoint(checkpoint, () => {
      promoted.push(checkpoint);
      state.promoting = pair.failOver();
    });
    await operator.provision('machine', 'active');
    await operator.waitForState('machine', 'active');
    lab.atCheckpoint(Number.POSITIVE_INFINITY, () => undefined);
    await state.promoting;
    expect(machine.disk.slice(before), `at ${checkpoint}`).toEqual([
      'prepare_disks',
      'write_image demo.raw',
      'tune_image',
    ]);
    expect(machine.state()).toEqual({ power: 'on', runs: 'instance' });
    expect(await operator.node('machine')).toMatchObject({ maintenance: false, fault: null });
    if (promoted.length < checkpoint) break;
    await operator.provision('machine', 'deleted');
    await operator.waitForState('machine', 'available');
    await operator.call('PATCH', '/v1/nodes/machine', [{ op: 'add', path: '/instance_info', value: demoInstance }]);
  }
  expect(promoted.length).toBeGreaterThan(10);
});
