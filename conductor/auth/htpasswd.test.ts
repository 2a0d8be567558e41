import { hash as bcryptHash } from 'bcryptjs';
import { describe, expect, test } from 'vitest';
import { createPasswordCheck, parseHtpasswd } from '#conductor/auth/password-check.ts';

/** `htpasswd -nbB -C 4 alice wonderland` of Apache 2.4.71. */
const recorded = 'alice:$2y$04$3qYsI2BdfuXqz8ESC.mEQ.yiHQdc1w9wrrNIsDfbmevKY9P7kMtkO';
const hash = recorded.slice('alice:'.length);

test('users of an htpasswd file are administrators, unless a column says otherwise', () => {
  const text = `# ours\n\n${recorded}\nbob:${hash}:reader\ncarol:${hash.replace('$2y$', '$2b$')}:member:tenants\n`;
  expect([...parseHtpasswd(text, 'f').byName.values()].map(({ name, role, project }) => [name, role, project])).toEqual(
    [
      ['alice', 'admin', undefined],
      ['bob', 'reader', undefined],
      ['carol', 'member', 'tenants'],
    ],
  );
});

test.each([
  ['alice:$apr1$y5kxnxf8$kTeHuNmNCHxAjDq7ALhxE0', 'line 2: the password of alice must be a bcrypt hash'],
  ['alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=', 'line 2: the password of alice must be a bcrypt hash'],
  ['alice:secret', 'line 2: the password of alice must be a bcrypt hash'],
  ['alice:$2y$04$short', 'line 2: the password of alice must be a bcrypt hash'],
  ['alice', 'line 2: the password of alice'],
  [`alice:${hash}:root`, 'line 2: the role of alice must be one of reader, member, admin'],
  [`alice:${hash}:admin:p:q`, 'line 2: it must be name:hash, name:hash:role or name:hash:role:project'],
  [`alice:${hash}:admin:`, 'line 2: the project of alice is empty'],
  [`alice:${hash.replace('$04$', '$13$')}`, 'line 2: the cost of the hash of alice is 13; it may be 12, because'],
  [`${recorded}\n${recorded}`, 'line 3: alice is in it twice'],
])('the line %s is refused', (line, why) => {
  expect(() => parseHtpasswd(`# first\n${line}\n`, '/f')).toThrow(`BATON_HTPASSWD_FILE: /f ${why}`);
});

describe('a password', () => {
  const users = parseHtpasswd(recorded, 'f');

  test('is checked, and remembered for a minute', async () => {
    let now = 1_000_000;
    const passwords = createPasswordCheck(() => now);
    expect(passwords.recall(users, 'alice:wonderland')).toBeUndefined();
    expect((await passwords.check(users, 'alice:wonderland'))?.name).toBe('alice');
    expect(passwords.recall(users, 'alice:wonderland')?.name).toBe('alice');
    expect(passwords.recall(users, 'alice:wonderlanD')).toBeUndefined();
    now += 61_000;
    expect(passwords.recall(users, 'alice:wonderland')).toBeUndefined();
  });

  test('that was changed in the file is forgotten at once', async () => {
    const passwords = createPasswordCheck(() => 0);
    await passwords.check(users, 'alice:wonderland');
    const changed = parseHtpasswd(recorded.replace(hash, hash.replace(/.$/, '.')), 'f');
    expect(passwords.recall(changed, 'alice:wonderland')).toBeUndefined();
    expect(passwords.recall(parseHtpasswd('', 'f'), 'alice:wonderland')).toBeUndefined();
  });

  test.each(['alice:wrong', 'alice:', 'nobody:wonderland', ':', 'alice:wonderland:more'])(
    '%s is wrong',
    async (text) => {
      expect(await createPasswordCheck(() => 0).check(users, text)).toBeUndefined();
    },
  );

  test('of which bcrypt looks at a part alone is wrong', async () => {
    const text = 'p'.repeat(72);
    const long = parseHtpasswd(`long:${await bcryptHash(text, 4)}`, 'f');
    const right = async (password: string) =>
      (await createPasswordCheck(() => 0).check(long, `long:${password}`)) !== undefined;
    expect([await right(text), await right(`${text}more`), await right(`${text}\0`)]).toEqual([true, false, false]);
  });

  test('that many requests bring at once takes one turn', async () => {
    const passwords = createPasswordCheck(() => 0);
    const check = () => passwords.check(users, 'alice:wonderland');
    const callers = await Promise.all(Array.from({ length: 60 }, check));
    expect(callers.map((user) => user?.name)).toEqual(Array<string>(60).fill('alice'));
  });

  test('is not checked while too many are', async () => {
    const passwords = createPasswordCheck(() => 0);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 60 }, (_, i) => passwords.check(users, `alice:${i}`)),
    );
    const refused = outcomes.filter((each) => each.status === 'rejected');
    expect(refused.length).toBe(60 - 1 - 32);
    expect(String(refused[0]?.reason)).toContain('too many passwords are being checked');
    expect((await passwords.check(users, 'alice:wonderland'))?.name).toBe('alice');
  });
});

test('hashes of different cost are noticed', () => {
  const dear = `bob:${hash.replace('$04$', '$05$')}`;
  expect(parseHtpasswd(`${recorded}\n${dear}`, 'f').hasOneCost).toBe(false);
  expect(parseHtpasswd(recorded, 'f').hasOneCost).toBe(true);
});
