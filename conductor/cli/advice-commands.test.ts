import { expect, test } from 'vitest';
import { commands } from '#conductor/cli/commands.ts';
import { faultAdvice } from '#conductor/flows/watch/fault-advice.ts';

test('every command that an advice names is one of the CLI', () => {
  const known = commands.map(({ words }) => words);
  const named = Object.values(faultAdvice).flatMap((advise) => {
    const said = advise({ node: 'NODE', isOver: true }) ?? '';
    return [...said.matchAll(/`baton ([a-z -]+?)(?= NODE| --|`)/g)].map(([, words]) => words);
  });
  expect(named.length).toBeGreaterThan(8);
  expect(named.filter((words) => !known.some((each) => each === words))).toEqual([]);
});
