import { expect, test, vi } from 'vitest';
import { portVlans } from '#conductor/model/port-vlans.ts';
import type { SwitchPortSetting } from '#conductor/networks/switch-driver.ts';
import { createSwitchRounds, type OneWriter } from '#conductor/networks/switch-rounds.ts';
import { createFakeSwitch } from '#conductor/networks/switches/fake.ts';
import { AppError } from '#shared/errors/app-error.ts';

const alone: OneWriter = (_switchId, signal, work) => work(signal);
const portIds = Array.from({ length: 48 }, (_, index) => `p${index + 1}`);

function start(oneWriter = alone) {
  const fake = createFakeSwitch({ ports: portIds });
  const connection = fake.driver.connect({ endpoint: fake.endpoint });
  const apply = vi.spyOn(connection, 'apply');
  const rounds = createSwitchRounds('leaf1', connection, oneWriter);
  const to = (vlan: number, ...ports: string[]): SwitchPortSetting[] =>
    ports.map((portId) => ({ portId, vlans: portVlans(vlan) }));
  return { fake, apply, rounds, to };
}

test('48 nodes that move at once are one change of the switch', async () => {
  const { fake, apply, rounds, to } = start();
  await Promise.all(portIds.map((portId) => rounds.move(to(100, portId))));
  expect(apply).toHaveBeenCalledTimes(1);
  expect([...fake.ports.values()]).toEqual(portIds.map(() => portVlans(100)));
});

test('what comes during a round waits for the next one', async () => {
  const gate = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  const { apply, rounds, to } = start(async (_switchId, signal, work) => {
    entered.resolve();
    await gate.promise;
    return work(signal);
  });
  const first = rounds.move(to(100, 'p1'));
  await entered.promise;
  const others = ['p2', 'p3', 'p4'].map((portId) => rounds.move(to(200, portId)));
  gate.resolve();
  await Promise.all([first, ...others]);
  expect(apply.mock.calls.map(([operations]) => operations.map(({ portId }) => portId))).toEqual([
    ['p1'],
    ['p2', 'p3', 'p4'],
  ]);
});

test('a port that the switch does not have fails its own node, and no other', async () => {
  const { fake, rounds, to } = start();
  const moves = ['p1', 'p2', 'gone', 'p4', 'p5'].map((portId) => rounds.move(to(100, portId)));
  const outcomes = await Promise.allSettled(moves);
  expect(outcomes.map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
  ]);
  expect(outcomes[2]).toMatchObject({ reason: { code: 'not_found', message: expect.stringContaining('gone') } });
  expect(['p1', 'p2', 'p4', 'p5'].map((portId) => fake.ports.get(portId))).toEqual(Array(4).fill(portVlans(100)));
});

test('who gives up leaves the round, and nothing is done for him', async () => {
  const { fake, rounds, to } = start();
  const givesUp = new AbortController();
  const moves = [rounds.move(to(100, 'p1'), givesUp.signal), rounds.move(to(100, 'p2'))];
  givesUp.abort();
  const [first, second] = await Promise.allSettled(moves);
  expect(first).toMatchObject({ status: 'rejected', reason: { code: 'aborted' } });
  expect(second).toMatchObject({ status: 'fulfilled' });
  expect(fake.ports.get('p1')).toBe('other');
  expect(fake.ports.get('p2')).toEqual(portVlans(100));
});

test('a change of which nobody knows whether it is the only one stops, and may be tried again', async () => {
  const lost = new AbortController();
  const { fake, apply, rounds, to } = start((_switchId, signal, work) => work(AbortSignal.any([signal, lost.signal])));
  apply.mockImplementationOnce(() => {
    lost.abort(new AppError('unavailable', 'the lock is lost'));
    return Promise.reject(new AppError('aborted', 'the session was closed'));
  });
  await expect(rounds.move(to(100, 'p1'))).rejects.toMatchObject({ code: 'unavailable', retryable: true });
  expect(fake.ports.get('p1')).toBe('other');
});

test('two requests for one port go one after the other, in their order', async () => {
  const { fake, apply, rounds, to } = start();
  await Promise.all([rounds.move(to(100, 'p1', 'p2')), rounds.move(to(200, 'p2')), rounds.move(to(300, 'p2'))]);
  expect(apply).toHaveBeenCalledTimes(3);
  expect(fake.ports.get('p1')).toEqual(portVlans(100));
  expect(fake.ports.get('p2')).toEqual(portVlans(300));
});
