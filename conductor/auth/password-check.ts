import { createHmac, randomBytes } from 'node:crypto';
import { compare, genSaltSync } from 'bcryptjs';
import { type Role, roles } from '#conductor/kernel/caller.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { limitAtOnce } from '#shared/in-parallel.ts';

/** Version, cost (4 to 31), salt and hash. */
const bcryptForm = /^\$2[aby]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}$/;

export interface PasswordUser {
  readonly name: string;
  /** bcrypt. */
  readonly hash: string;
  readonly role: Role;
  readonly project: string | undefined;
}

export interface PasswordUsers {
  readonly byName: ReadonlyMap<string, PasswordUser>;
  /** Cost of the dearest hash: to check a user who does not exist takes as long. */
  readonly cost: number;
  /** Otherwise the duration of a refusal shows whether there is such a user. */
  readonly hasOneCost: boolean;
}

/** A check takes a third of a second of the one thread at it, and twice as long with each more. */
const maxCost = 12;

/**
 * Users of an htpasswd file: `name:$2y$…`, as `htpasswd -B` writes it, with two columns of ours behind: the role (an
 * administrator without it, as with standalone Ironic) and the project that the user is bound to.
 * @throws AppError `invalid_argument` naming file, line and what would be right.
 */
export function parseHtpasswd(text: string, file: string): PasswordUsers {
  const users = new Map<string, PasswordUser>();
  const costs = new Set<number>();
  for (const [index, line] of text.split('\n').entries()) {
    const entry = line.trim();
    if (entry === '' || entry.startsWith('#')) continue;
    const wrong = (why: string): never => {
      throw new AppError('invalid_argument', `BATON_HTPASSWD_FILE: ${file} line ${index + 1}: ${why}`);
    };
    const [name = '', hash = '', role = 'admin', project, ...rest] = entry.split(':');
    if (name === '' || rest.length > 0) wrong('it must be name:hash, name:hash:role or name:hash:role:project');
    const options = /^\$2[aby]\$/.test(hash) ? readHash(hash) : undefined;
    if (!options) return wrong(`the password of ${name} must be a bcrypt hash, as \`htpasswd -B\` writes it ($2y$…)`);
    if (options.cost > maxCost)
      wrong(
        `the cost of the hash of ${name} is ${options.cost}; it may be ${maxCost}, because checks delay all other requests: create it again with \`htpasswd -B -C ${maxCost}\``,
      );
    const knownRole = roles.find((each) => each === role);
    if (!knownRole) return wrong(`the role of ${name} must be one of ${roles.join(', ')}`);
    if (users.has(name)) wrong(`${name} is in it twice`);
    if (project === '') wrong(`the project of ${name} is empty: leave out the colon before it, for all projects`);
    users.set(name, { name, hash, role: knownRole, project });
    costs.add(options.cost);
  }
  return { byName: users, cost: Math.max(4, ...costs), hasOneCost: costs.size <= 1 };
}

function readHash(hash: string): { readonly cost: number } | undefined {
  const [, cost] = bcryptForm.exec(hash) ?? [];
  return cost === undefined ? undefined : { cost: Number(cost) };
}

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

/**
 * Checks that bcrypt looks at all of a password: with a longer one, any characters behind the first 72 bytes would be right.
 */
function isWhole(password: string): boolean {
  return Buffer.byteLength(password) <= 72 && !password.includes('\0');
}

/** Makes a hash of the same cost as a real one, and of no password. */
function hashOfNobody(cost: number): string {
  return `${genSaltSync(cost)}${'.'.repeat(31)}`;
}
