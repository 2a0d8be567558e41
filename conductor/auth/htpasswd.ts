import { type Role, roles } from '#conductor/kernel/caller.ts';
import { AppError } from '#shared/errors/app-error.ts';

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
  /** Of the dearest hash: to check a user who does not exist takes as long. */
  readonly cost: number;
  /** Otherwise how long a refusal takes tells whether there is such a user. */
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
