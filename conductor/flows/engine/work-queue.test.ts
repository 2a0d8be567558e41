import { expect, test } from 'vitest';
import { createTurns } from '#conductor/flows/engine/work-queue.ts';
import type { Clock } from '#shared/clock.ts';

/** A clock whose timers come as late as the test says. */
function setUp() {
  const time = { ms: 0, late: 0 };
  const sleepers: (() => void)[] = [];
  const clock: Clock = {
    now: () => new Date(time.ms),
    sleep: (ms) =>
      new Promise((resolve) => {
        sleepers.push(() => {
          time.ms += ms + time.late;
          resolve();
        });
      }),
  };
  const begun: string[] = [];
  const room = { free: 100, young: 0 };
  const turns = createTurns({
    clock,
    hasRoom: () => room.free > 0,
    youngAtWork: () => room.young,
    begin: (nodeUuid, origin) => begun.push(`${nodeUuid} ${origin}`),
  });
  const tick = async (): Promise<void> => {
    sleepers.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { turns, begun, room, time, tick };
}

test('an agent that waits is answered at once, whatever else is queued', async () => {
  const { turns, begun, tick } = setUp();
  turns.take('new-1', 'operator');
  turns.take('new-2', 'another conductor');
  turns.take('waiting', 'agent');
  expect(begun).toEqual(['waiting agent']);
  await tick();
  await tick();
  expect(begun.slice(1)).toEqual(['new-1 operator', 'new-2 another conductor']);
});

test('a process that is late while agents call begins new work once a second only', async () => {
  const { turns, begun, time, tick } = setUp();
  const call = () => {
    turns.take('waiting', 'agent');
    begun.splice(begun.indexOf('waiting agent'), 1);
  };
  for (let index = 0; index < 50; index += 1) turns.take(`new-${index}`, 'operator');
  time.late = 46; // each turn takes 50 ms
  for (let turn = 0; turn < 61; turn += 1) {
    call();
    await tick();
  }
  expect(begun).toHaveLength(4);
  time.late = 0;
  for (let turn = 0; turn < 10; turn += 1) await tick();
  expect(begun).toHaveLength(14);
});

test('where no agent has called for a while, some begin however late the timers are', async () => {
  const { turns, begun, room, time, tick } = setUp();
  for (let index = 0; index < 50; index += 1) turns.take(`new-${index}`, 'operator');
  time.late = 46;
  room.young = 5;
  // agents may be about to call: the first begins because a second has passed since none did
  for (let turn = 0; turn < 11; turn += 1) await tick();
  expect(begun.splice(0)).toEqual(['new-0 operator']);
  for (let turn = 0; turn < 10; turn += 1) await tick();
  expect(begun).toHaveLength(10);
  room.young = 6;
  for (let turn = 0; turn < 10; turn += 1) await tick();
  expect(begun).toHaveLength(10);
});

test('where no agent has called for a while, several begin in a turn, as many as there is room for', async () => {
  const { turns, begun, room, time, tick } = setUp();
  for (let index = 0; index < 50; index += 1) turns.take(`new-${index}`, 'operator');
  time.ms += 1_000;
  await tick();
  expect(begun).toHaveLength(4);
  room.young = 14;
  await tick();
  expect(begun).toHaveLength(6);
  room.young = 16;
  await tick();
  expect(begun).toHaveLength(6);
});

test('without room everybody waits, agents first', async () => {
  const { turns, begun, room, tick } = setUp();
  room.free = 0;
  turns.take('new', 'operator');
  turns.take('waiting', 'agent');
  await tick();
  expect(begun).toEqual([]);
  room.free = 1;
  turns.next();
  await tick();
  expect(begun).toEqual(['waiting agent', 'new operator']);
});

test('what has just begun is served before more begins, operators before what is merely due', async () => {
  const { turns, begun, room, tick } = setUp();
  turns.take('due', 'another conductor');
  turns.take('wanted', 'operator');
  await tick();
  expect(begun).toEqual(['wanted operator']);
  room.young = 4;
  await tick();
  expect(begun).toHaveLength(1);
  room.young = 3;
  await tick();
  expect(begun).toEqual(['wanted operator', 'due another conductor']);
});

test('a closed queue begins nothing', async () => {
  const { turns, begun, tick } = setUp();
  turns.take('new', 'operator');
  turns.close();
  await tick();
  expect(begun).toEqual([]);
});
