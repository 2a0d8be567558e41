import { createHmac, randomBytes } from 'node:crypto';
import { compare, genSaltSync } from 'bcryptjs';
import type { PasswordUser, PasswordUsers } from '#conductor/auth/htpasswd.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { limitAtOnce } from '#shared/limit-at-once.ts';

/** A hash takes a tenth of a second, and clients send the password with each request. */
const rememberMs = 60_000;
const maxRemembered = 10_000;
/** They take turns of a tenth of a second on the one thread: two at once would only both take longer. */
const maxChecks = 1;
const maxWaiting = 32;

/** Passwords of HTTP basic authentication, `name:password`. */
export interface PasswordCheck {
  /** The user, if these credentials were right a moment ago and still are; costs next to nothing. */
  recall(users: PasswordUsers, credentials: string): PasswordUser | undefined;
  /**
   * Takes as long for a user who does not exist as for a wrong password.
   * @throws AppError `busy` when too many are being checked.
   */
  check(users: PasswordUsers, credentials: string): Promise<PasswordUser | undefined>;
}

export function createPasswordCheck(now: () => number): PasswordCheck {
  // only a keyed hash of what was right is kept, of no use outside this process
  const key = randomBytes(32);
  const digest = (credentials: string): string => createHmac('sha256', key).update(credentials).digest('base64');
  const remembered = new Map<string, { readonly hash: string; readonly until: number }>();
  // a client that sends many requests at once, when its password is forgotten, takes one turn and not all of them
  const underWay = new Map<string, Promise<boolean>>();
  const inTurn = limitAtOnce({
    most: maxChecks,
    waiting: {
      most: maxWaiting,
      refusal: () => new AppError('busy', 'too many passwords are being checked, try again'),
    },
  });
  const compareOnce = (credentials: string, users: PasswordUsers, user: PasswordUser | undefined): Promise<boolean> => {
    const key = `${digest(credentials)} ${user?.hash ?? ''}`;
    const known = underWay.get(key);
    if (known) return known;
    const check = inTurn(() => compare(passwordIn(credentials), user?.hash ?? hashOfNobody(users.cost)));
    const ended = check.finally(() => underWay.delete(key));
    underWay.set(key, ended);
    return ended;
  };
  return {
    recall: (users, credentials) => {
      const known = remembered.get(digest(credentials));
      const user = users.byName.get(nameIn(credentials));
      // a changed file counts at once
      return known && user && known.hash === user.hash && known.until > now() ? user : undefined;
    },
    check: async (users, credentials) => {
      const user = users.byName.get(nameIn(credentials));
      const isRight = await compareOnce(credentials, users, user);
      if (!isRight || !user || !isWhole(passwordIn(credentials))) return undefined;
      if (remembered.size >= maxRemembered) remembered.clear();
      remembered.set(digest(credentials), { hash: user.hash, until: now() + rememberMs });
      return user;
    },
  };
}

function nameIn(credentials: string): string {
  return credentials.slice(0, credentials.indexOf(':'));
}

function passwordIn(credentials: string): string {
  return credentials.slice(nameIn(credentials).length + 1);
}

/** bcrypt looks at no more than this of a password: whatever stood behind would be right. */
function isWhole(password: string): boolean {
  return Buffer.byteLength(password) <= 72 && !password.includes('\0');
}

/** Of the same cost as a real one, and of no password. */
function hashOfNobody(cost: number): string {
  return `${genSaltSync(cost)}${'.'.repeat(31)}`;
}
