import { afterEach, beforeEach, expect, onTestFailed, test } from 'vitest';
import { createLog } from '#shared/log.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type PromotionLab, startPromotionLab } from '#test/support/promotion-lab.ts';

/** The primary server dies, and its standby is promoted: with all that was answered, or without. */

const spares = 4;
let lab: PromotionLab;
const said: string[] = [];
beforeEach(async () => {
  said.length = 0;
  const log = createLog({ component: 'conductor', only: { write: (line) => void said.push(line) } });
  lab = await startPromotionLab({ spares, log });
  onTestFailed(() => void process.stderr.write(said.slice(-60).join('')));
});
afterEach(() => lab.close());

const nodes = async () =>
  ((await lab.operator.call('GET', '/v1/nodes/detail')) as { nodes: Record<string, unknown>[] }).nodes;
const causes = async () =>
  ((await (await fetch(`${lab.url}/readyz`)).json()) as { causes?: Record<string, string> }).causes;

test('a synchronous standby: allocations that were answered stay, and no node is given twice', async () => {
  const { pair, operator } = lab;
  await pair.synchronous(true);
  const names = Array.from({ length: 3 }, (_, index) => `asked-${index}`);
  const answering = lab.allocate(names);
  await waitUntil('the first to be there', async () => (await lab.allocations()).size > 0 || undefined, { everyMs: 5 });
  const promoting = pair.failOver();
  const answered = await answering;
  await promoting;
  expect(answered.length).toBeGreaterThan(0);
  const all = await waitUntil('each to have its node', async () => {
    const found = await lab.allocations();
    return [...found.values()].every((node) => node !== null) ? found : undefined;
  });
  expect([...all.keys()]).toEqual(expect.arrayContaining(answered));
  expect(new Set(all.values()).size).toBe(all.size);
  expect(await causes()).toBeUndefined();
  expect((await nodes()).filter((node) => node['maintenance'] === true)).toEqual([]);
  await operator.provision('machine', 'active');
  await operator.waitForState('machine', 'active');
});

test('an asynchronous standby that was behind: nothing is given again, and no machine is touched, until a person has looked', async () => {
  const { pair, operator, machine } = lab;
  await pair.stopFollowing();
  const names = Array.from({ length: spares }, (_, index) => `forgotten-${index}`);
  expect(await lab.allocate(names)).toEqual(names);
  await operator.provision('machine', 'active');
  await operator.waitForState('machine', 'active');
  const touched = () =>
    machine.bmc.requests.filter(({ method, path }) => method !== 'GET' && !path.includes('Sessions'));
  const before = touched().length;
  await pair.failOver();

  const held = await waitUntil('all nodes to be held', async () => {
    const found = await nodes();
    return found.every((node) => node['fault'] === 'restored') ? found : undefined;
  });
  expect(held).toHaveLength(spares + 1);
  expect(held[0]).toMatchObject({
    maintenance: true,
    maintenance_reason: 'the database has forgotten what came last: compare it with the machine',
  });
  expect(await causes()).toMatchObject({
    answered: expect.stringMatching(/standby that was behind.*baton adopt/) as unknown,
  });
  expect(said.join('')).toContain('went on from a standby that was behind');
  // it asks for a node that has been given, and gets none
  expect((await lab.allocations()).size).toBe(0);
  await lab.allocate(['again']);
  await expect(operator.provision('machine', 'active')).rejects.toThrow('was restored');
  await operator.provision('machine', 'adopt');
  await operator.call('DELETE', '/v1/nodes/machine/maintenance');
  await operator.waitForState('machine', 'active');
  expect(touched().length).toBe(before);
  expect([...(await lab.allocations())]).toEqual([['again', null]]);
});
