import { expect, test } from 'vitest';
import { newRehearseApart } from '#conductor/sites/rehearsal/apart/rehearse-apart.ts';
import type { NodeCourse } from '#conductor/sites/rehearsal/engine/course.ts';
import { type RehearsalOrder, rehearse } from '#conductor/sites/rehearsal/engine/rehearse.ts';
import { planSite } from '#conductor/sites/strategy/plan-site.ts';

const course: NodeCourse = {
  prepare: { flows: [{ kind: 'clean' }], end: { state: 'done' } },
  deploy: { flows: [{ kind: 'deploy' }], end: { state: 'done' } },
};
function orderOf(count: number, runs: number): RehearsalOrder {
  const nodes = new Map(
    Array.from({ length: count }, (_, index) => [`n${index}`, { name: `n${index}`, tags: [], labels: {} }]),
  );
  const group = { name: 'g', critical: true, depends_on: [], selectors: [] };
  const start = planSite({ nodes, strategy: { name: 's', groups: [group], max_parallel_groups: 1 } });
  return {
    scene: { start, timeouts: { prepare: 1800, deploy: 3600 }, beginsAt: 0, racks: new Map() },
    courses: new Map([...nodes.keys()].map((name) => [name, course])),
    failures: { nodes: new Map(), share: 0.5 },
    runs,
    seed: 1,
  };
}

test('what is rehearsed on the thread is as it is here, and everybody else goes on meanwhile', async () => {
  const order = orderOf(100, 20);
  let beats = 0;
  const beat = setInterval(() => (beats += 1), 1);
  const rehearsed = await newRehearseApart()(order).finally(() => clearInterval(beat));
  expect(rehearsed).toEqual(rehearse(order));
  expect(beats).toBeGreaterThan(1);
});

test('what takes too long, or too much memory, is refused, and the next is rehearsed', async () => {
  const late = newRehearseApart({ timeoutMs: 1 });
  await expect(late(orderOf(1000, 1000))).rejects.toMatchObject({
    code: 'invalid_argument',
    message: 'rehearsing takes longer than 0.001 s; ask for fewer runs',
  });
  const narrow = newRehearseApart({ memoryMb: 16 });
  await expect(narrow(orderOf(10_000, 1000))).rejects.toMatchObject({
    code: 'invalid_argument',
    message: 'rehearsing takes more than 16 MB of memory; ask for fewer runs',
  });
  expect((await narrow(orderOf(2, 1))).nodes.size).toBe(2);
});

test('one is rehearsed after the other, and those that would wait behind too many are refused', async () => {
  const rehearseApart = newRehearseApart({ waiting: 1 });
  const ends = await Promise.allSettled([1, 2, 3].map(() => rehearseApart(orderOf(2, 1))));
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
  expect(ends[2]).toMatchObject({ reason: { code: 'unavailable' } });
});
