import { expect, test } from 'vitest';
import { planWithMatches } from '#conductor/nodes/inspection/rules/match-apart.ts';

test('what a rule asks because another has matched is answered, too', async () => {
  const asked: string[] = [];
  const made = await planWithMatches((matches) => {
    asked.push('pass');
    const isDell = matches('dell', 'PowerEdge.*R640', 'PowerEdge R640');
    return { isDell, isOld: isDell && matches('old', '^1\\.', '1.2'), isNew: !matches('new', '^2', '1.2') };
  });
  expect(made).toEqual({ isDell: true, isOld: true, isNew: true });
  expect(asked).toHaveLength(3);
});

test('a plan that asks nothing starts no thread, and is made once', async () => {
  let passes = 0;
  expect(await planWithMatches(() => (passes += 1))).toBe(1);
});

test('an ordinary expression against a hostile report is ended, and everybody else goes on meanwhile', async () => {
  let beats = 0;
  const beat = setInterval(() => (beats += 1), 1);
  const text = 'PowerEdge '.repeat(1_000_000);
  const ended = planWithMatches((matches) => matches('Dell R640', 'PowerEdge.*R640', text), { milliseconds: 50 });
  await expect(ended).rejects.toMatchObject({
    code: 'invalid_argument',
    message: expect.stringContaining(
      "regular expression of rule 'Dell R640' takes longer than 0.05 s on 10000000 char",
    ),
  });
  clearInterval(beat);
  expect(beats).toBeGreaterThan(0);
  expect(await planWithMatches((matches) => matches('next', 'a', 'cat'))).toBe(true);
});

test('a machine too busy to start a thread, or to read what it says, costs no expression its time', async () => {
  const asked = planWithMatches((matches) => matches('any', 'a', 'cat'), { milliseconds: 500 });
  const stalledUntil = Date.now() + 700;
  const stall = (): void => {
    while (Date.now() < stalledUntil) void 0;
  };
  stall();
  setImmediate(stall);
  expect(await asked).toBe(true);
});

test('those that would wait behind too many are refused, and those who wait are answered', async () => {
  const plans = Array.from({ length: 18 }, () => planWithMatches((matches) => matches('any', 'a', 'cat')));
  const ends = await Promise.allSettled(plans);
  expect(ends.map(({ status }) => status)).toEqual([...Array<string>(17).fill('fulfilled'), 'rejected']);
  await expect(plans.at(-1)).rejects.toMatchObject({
    code: 'unavailable',
    retryable: true,
    message: 'inspection rules are being applied to others; try again in a minute',
  });
  expect(await planWithMatches((matches) => matches('next', 'a', 'cat'))).toBe(true);
});

test('a report that takes too much memory is refused, and the next is read', async () => {
  const texts = Array.from({ length: 100 }, (_, index) => `${index}`.repeat(500_000));
  const ended = planWithMatches((matches) => texts.map((text) => matches('any', '^a', text)), { memoryMb: 16 });
  await expect(ended).rejects.toMatchObject({
    code: 'invalid_argument',
    message: expect.stringContaining('take more than 16 MB of memory on what the machine has reported'),
  });
  expect(await planWithMatches((matches) => matches('next', 'a', 'cat'))).toBe(true);
});
