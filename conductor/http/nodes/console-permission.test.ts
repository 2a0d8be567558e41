import { expect, test } from 'vitest';
import { whyForbidden } from '#conductor/http/nodes/console.routes.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import { AppError } from '#shared/errors/app-error.ts';

const token = { kind: 'token', text: 't' } as const;
const admin: Caller = { user: 'a', role: 'admin', project: undefined };
const auth = (caller: Caller | undefined) => ({
  unproven: undefined,
  recall: () => undefined,
  check: () => Promise.resolve(caller),
});
const owner = (project: string) => () => Promise.resolve({ owner: project, lessee: null });

const noRight = 'the login has no right to this node any more';

test.each([
  ['a login that is good', admin, 'x', undefined],
  ['one of the owner', { ...admin, project: 'x' }, 'x', undefined],
  ['a token that was deleted', undefined, 'x', 'the login has ended'],
  ['a role that was taken away', { ...admin, role: 'member' as const }, 'x', noRight],
  ['a node that changed hands', { ...admin, project: 'x' }, 'y', noRight],
])('%s', async (_, caller, project, why) => {
  expect(await whyForbidden(auth(caller), token, owner(project))).toBe(why);
});

test('where nobody logs in, nobody is asked', async () => {
  expect(await whyForbidden({ ...auth(undefined), unproven: admin }, undefined, owner('x'))).toBeUndefined();
});

test('a crowd at the door throws nobody out, a broken database does', async () => {
  const failing = (error: Error) => ({ ...auth(undefined), check: () => Promise.reject(error) });
  expect(await whyForbidden(failing(new AppError('busy', 'many')), token, owner('x'))).toBeUndefined();
  await expect(whyForbidden(failing(new Error('lost')), token, owner('x'))).rejects.toThrow('lost');
});
