import { expect, test, vi } from 'vitest';
import { rememberAnswers } from '#conductor/kernel/db/answered.ts';
import { shareAnswers } from '#conductor/kernel/db/share-answers.ts';
import { silentLog } from '#shared/log.ts';

const here = { system: '1', timeline: 1 };
const mark = (number: number) => ({ xid: String(number), lsn: `0/${number.toString(16).toUpperCase()}` });

function two() {
  const [from, to] = [rememberAnswers(undefined, silentLog), rememberAnswers(undefined, silentLog)];
  for (const each of [from, to]) each.adopt(here);
  const sent: string[] = [];
  const warn = vi.fn();
  const hearing = shareAnswers(to, { notify: () => Promise.resolve(), log: { ...silentLog, warn } });
  const state = { faults: 0 };
  const sharing = shareAnswers(from, {
    log: silentLog,
    notify: (payload) => {
      if (state.faults > 0) {
        state.faults -= 1;
        return Promise.reject(new Error('the database is away'));
      }
      sent.push(payload);
      hearing.hear(payload);
      return Promise.resolve();
    },
  });
  const answer = (number: number): void => {
    from.add(mark(number));
    sharing.add(mark(number));
  };
  return { from, to, sent, warn, state, sharing, hearing, answer };
}

test('what one was answered another remembers, many together', async () => {
  const { to, sent, sharing, answer } = two();
  for (let number = 1; number <= 50; number += 1) answer(number);
  await sharing.close();
  expect(sent).toHaveLength(1);
  expect(to.memory()?.marks).toEqual(Array.from({ length: 50 }, (_, index) => mark(index + 1)));
});

test('what could not be sent is sent later, in one notification that PostgreSQL takes', async () => {
  const { to, sent, state, answer } = two();
  state.faults = 1;
  for (let number = 1; number <= 500; number += 1) answer(number);
  await expect.poll(() => sent.length).toBe(1);
  expect(sent[0]?.length).toBeLessThan(8000);
  expect(to.memory()?.marks.at(-1)).toEqual(mark(500));
});

test('answers of another server or timeline are of no use, and a form that is not known is a warning', () => {
  const { to, hearing, warn } = two();
  for (const elsewhere of [
    { ...here, timeline: 2 },
    { ...here, system: '2' },
  ])
    hearing.hear(JSON.stringify({ ...elsewhere, marks: [mark(1)] }));
  expect(warn).not.toHaveBeenCalled();
  for (const payload of ['', '{', '{"marks":[]}', '[]']) hearing.hear(payload);
  expect(warn).toHaveBeenCalledTimes(4);
  expect(to.memory()?.marks).toEqual([]);
});
